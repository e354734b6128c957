package features;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.zip.GZIPInputStream;

/** Queries a server. It may be used from any number of threads; connections are used again. */
public final class SvcClient {
  /**
   * The name in the metadata of a table's schema under which a query stands that has the table as its
   * inputs.
   */
  public static final String ARROW_QUERY = "svc.query";

  private static final String ARROW_STREAM = "application/vnd.apache.arrow.stream";
  private static final String JSON = "application/json";
  private static final int MOST_BYTES = 1 << 30;

  /** Most bytes that deflate makes one of. */
  private static final long MOST_OF_A_BYTE = 1032;

  private static final String TOO_LONG = "it answers with more than 1 GiB";
  private static final long FIRST_PAUSE_MS = 50;
  private static final long LONGEST_PAUSE_MS = 2000;

  /** Time beyond the end of a call in which the server can still answer with what it has. */
  private static final long GRACE_MS = 1000;

  private final Options options;
  private final String server;
  private final HttpClient http;
  private String token;
  private String queries;
  private long refreshAt;

  /**
   * A client; nothing is sent before the first call. Throws IllegalArgumentException for a setting
   * that is missing or makes no sense.
   */
  public SvcClient(Options options) {
    this.options = options;
    if (options.clientId.isEmpty() || options.clientSecret.isEmpty()) {
      throw new IllegalArgumentException(
          "the client needs an id and a secret, or SVC_CLIENT_ID and SVC_CLIENT_SECRET");
    }
    this.server = address(options.apiServer);
    this.http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(options.timeout)
            .build();
  }

  /** A client whose settings come from the environment variables alone. */
  public SvcClient() {
    this(new Options());
  }

  /**
   * The settings of a client. What is not set comes from the environment variables SVC_CLIENT_ID,
   * SVC_CLIENT_SECRET, SVC_ENVIRONMENT and SVC_API_SERVER.
   */
  public static final class Options {
    private String clientId = variable("SVC_CLIENT_ID");
    private String clientSecret = variable("SVC_CLIENT_SECRET");
    private String environment = variable("SVC_ENVIRONMENT");
    private String apiServer = variable("SVC_API_SERVER");
    private String branch = "";
    private String deploymentId = "";
    private Duration timeout = Duration.ofMinutes(1);

    public Options credentials(String clientId, String clientSecret) {
      this.clientId = clientId;
      this.clientSecret = clientSecret;
      return this;
    }

    public Options environment(String environment) {
      this.environment = environment;
      return this;
    }

    /** The server's address; default http://127.0.0.1:5757. */
    public Options apiServer(String apiServer) {
      this.apiServer = apiServer;
      return this;
    }

    /** Asks a branch in place of what is live. */
    public Options branch(String branch) {
      this.branch = branch;
      return this;
    }

    /** Asks one deployment in place of what is live. */
    public Options deploymentId(String deploymentId) {
      this.deploymentId = deploymentId;
      return this;
    }

    /**
     * The longest time of a call with all of its retries; default a minute. When it passes, the
     * server answers with what it has by then.
     */
    public Options timeout(Duration timeout) {
      if (timeout.isNegative() || timeout.isZero()) {
        throw new IllegalArgumentException("a timeout is above zero, not " + timeout);
      }
      this.timeout = timeout;
      return this;
    }

    private static String variable(String name) {
      String value = System.getenv(name);
      return value == null ? "" : value;
    }
  }

  /** A query for one row, or with lists of values for many. */
  private abstract static class Request<Self> {
    final Map<String, Object> inputs = new LinkedHashMap<>();
    final List<String> outputs = new ArrayList<>();
    final Map<String, Object> more = new LinkedHashMap<>();

    abstract Self self();

    void give(String name, Object value) {
      if (inputs.containsKey(name)) {
        throw new IllegalArgumentException("the input " + name + " is given twice");
      }
      inputs.put(name, value);
    }

    /** Asks for features; without any, for what the named query says, or the class of the inputs. */
    public Self output(Feature<?>... features) {
      for (Feature<?> feature : features) {
        outputs.add(feature.name());
      }
      return self();
    }

    /** How old a stored value may be. */
    public Self staleness(Feature<?> feature, Duration age) {
      @SuppressWarnings("unchecked")
      Map<String, Object> ages = (Map<String, Object>) more.computeIfAbsent("staleness", name -> new LinkedHashMap<>());
      ages.put(feature.name(), age.toNanos() / 1000 + "us");
      return self();
    }

    public Self tags(String... tags) {
      more.put("context", Map.of("tags", Arrays.asList(tags)));
      return self();
    }

    /** The time to answer as of. */
    public Self now(Instant now) {
      more.put("now", now.toString());
      return self();
    }

    /** What resolvers read with svc.query_context(). */
    public Self context(Map<String, ?> context) {
      more.put("query_context", SvcJson.encode(context));
      return self();
    }

    /** A query that is stored with the code; without a version, its latest. */
    public Self named(String queryName, String version) {
      more.put("query_name", queryName);
      if (version != null) {
        more.put("query_name_version", version);
      }
      return self();
    }

    public Self correlationId(String id) {
      more.put("correlation_id", id);
      return self();
    }

    /** Changes how the server plans the query. */
    public Self plannerOptions(Map<String, ?> options) {
      more.put("planner_options", options);
      return self();
    }

    /** Asks for the plan, which `explanation` of the answer gives. */
    public Self explain() {
      more.put("explain", true);
      return self();
    }

    /** Keeps the spans of the query, under `traceId` of the answer. */
    public Self trace() {
      more.put("trace", true);
      return self();
    }

    Map<String, Object> body(String deploymentId) {
      Map<String, Object> body = new LinkedHashMap<>(more);
      body.put("inputs", inputs);
      body.put("outputs", outputs);
      body.put("encoding_options", Map.of("encode_large_integers_as_numbers", true));
      if (!deploymentId.isEmpty()) {
        body.put("deployment_id", deploymentId);
      }
      return body;
    }
  }

  /** A query for one row. */
  public static final class Query extends Request<Query> {
    /** Gives the value of a feature. */
    public <T> Query input(Feature<T> feature, T value) {
      give(feature.name(), SvcJson.encode(value));
      return this;
    }

    /** Keeps where each value came from, for `Result.origin`. */
    public Query includeMeta() {
      more.put("include_meta", true);
      return this;
    }

    @Override
    Query self() {
      return this;
    }
  }

  /** A query for many rows. */
  public static final class BulkQuery extends Request<BulkQuery> {
    /** Gives the values of a feature, one a row; a single one is for all rows. */
    public <T> BulkQuery input(Feature<T> feature, List<? extends T> values) {
      give(feature.name(), SvcJson.encode(values));
      return this;
    }

    /** The time to answer each row as of. */
    public BulkQuery now(List<Instant> times) {
      more.put("now", SvcJson.encode(times));
      return this;
    }

    @Override
    BulkQuery self() {
      return this;
    }
  }

  /** Values of features that were observed elsewhere and are to be stored. */
  public static final class Upload {
    private final Map<String, Object> columns = new LinkedHashMap<>();
    private final Map<String, Object> more = new LinkedHashMap<>();

    /** Gives the values of a feature, one a row; of each class the primary key too. */
    public <T> Upload column(Feature<T> feature, List<? extends T> values) {
      if (columns.put(feature.name(), SvcJson.encode(values)) != null) {
        throw new IllegalArgumentException("the column " + feature.name() + " is given twice");
      }
      return this;
    }

    /** When the rows were observed; else the feature time of their class, or now. */
    public Upload time(Instant time) {
      more.put("time", time.toString());
      return this;
    }

    /** When the rows could be known; else when they are stored. */
    public Upload knownAt(Instant time) {
      more.put("known_at", time.toString());
      return this;
    }

    /** Where values go: "both" (the default), "online" or "offline". */
    public Upload target(String target) {
      more.put("target", target);
      return this;
    }

    /** Checks everything and stores nothing. */
    public Upload dryRun() {
      more.put("dry_run", true);
      return this;
    }
  }

  /** What an upload stored. */
  public static final class UploadResult {
    public final int rows;
    public final int onlineValues;
    public final int offlineValues;

    /** Values that were left out, because those of that time were deleted. */
    public final int deletedValues;

    /** The request for approval that waits before anything is stored; null when it is stored. */
    public final String approvalId;

    private UploadResult(Map<?, ?> json) {
      this.rows = number(json, "rows");
      this.onlineValues = number(json, "online_values");
      this.offlineValues = number(json, "offline_values");
      this.deletedValues = number(json, "deleted_values");
      this.approvalId = text(json, "approval_id");
    }

    private static int number(Map<?, ?> json, String name) {
      return json.get(name) instanceof BigDecimal ? ((BigDecimal) json.get(name)).intValue() : 0;
    }
  }

  /** One error of a query. What is not known of it is null. */
  public static final class ErrorDetail {
    /** A name such as RESOLVER_FAILED. */
    public final String code;

    /** A name such as FIELD. */
    public final String category;

    public final String message;
    public final String feature;
    public final String resolver;

    /** The row of a bulk query, from 0, or of an upload, from 1. */
    public final Integer row;

    /** The class of the exception that code of the project raised. */
    public final String exception;

    private ErrorDetail(Map<?, ?> json) {
      this.code = text(json, "code");
      this.category = text(json, "category");
      String hint = text(json, "hint");
      this.message = hint == null ? text(json, "message") : text(json, "message") + " " + hint;
      this.feature = text(json, "feature");
      this.resolver = text(json, "resolver");
      Object at = json.get("row");
      this.row = at instanceof BigDecimal ? Integer.valueOf(((BigDecimal) at).intValue()) : null;
      this.exception = json.get("exception") instanceof Map ? text((Map<?, ?>) json.get("exception"), "kind") : null;
    }

    @Override
    public String toString() {
      String where = row == null ? "" : "row " + row + ": ";
      return where + (feature == null ? "" : feature + ": ") + message;
    }
  }

  /** What answers have in common. */
  private abstract static class Answer {
    private final List<ErrorDetail> errors;
    private final Map<?, ?> meta;

    Answer(Map<?, ?> json) {
      this.errors = details(json.get("errors"));
      this.meta = json.get("meta") instanceof Map ? (Map<?, ?>) json.get("meta") : Map.of();
    }

    /** What failed; the other features have values all the same. */
    public List<ErrorDetail> errors() {
      return errors;
    }

    public String queryId() {
      return text(meta, "query_id");
    }

    public String deploymentId() {
      return text(meta, "deployment_id");
    }

    /** The plan; null unless the query asked for it. */
    public String explanation() {
      return text(meta, "explain_output");
    }

    /** The id of the trace; null unless the query asked for it. */
    public String traceId() {
      return text(meta, "trace_id");
    }

    /** The classes that were asked for because the query named no outputs. */
    public List<String> inferredOutputs() {
      List<String> names = new ArrayList<>();
      for (Object name : meta.get("inferred_outputs") instanceof List ? (List<?>) meta.get("inferred_outputs") : List.of()) {
        names.add(String.valueOf(name));
      }
      return names;
    }
  }

  /** Where a value came from. */
  public static final class Origin {
    /** Empty for what was given or stored. */
    public final String resolver;

    /** Whether the value came from the online store. */
    public final boolean cacheHit;

    private Origin(Map<?, ?> json) {
      this.resolver = text(json, "resolver") == null ? "" : text(json, "resolver");
      this.cacheHit = Boolean.TRUE.equals(json.get("cache_hit"));
    }
  }

  /** The answer to a query. */
  public static final class Result extends Answer {
    private final Map<String, Object> values = new LinkedHashMap<>();
    private final Map<String, Origin> origins = new LinkedHashMap<>();

    private Result(Map<?, ?> json) {
      super(json);
      for (Object item : json.get("data") instanceof List ? (List<?>) json.get("data") : List.of()) {
        String name = text((Map<?, ?>) item, "field");
        values.put(name, ((Map<?, ?>) item).get("value"));
        if (((Map<?, ?>) item).get("meta") instanceof Map) {
          origins.put(name, new Origin((Map<?, ?>) ((Map<?, ?>) item).get("meta")));
        }
      }
    }

    /** The features of the answer, in their order. */
    public List<String> names() {
      return new ArrayList<>(values.keySet());
    }

    /** Where a value came from; null unless the query has `includeMeta`. */
    public Origin origin(Feature<?> feature) {
      return origins.get(feature.name());
    }

    Object value(String name) {
      return asked(values, name);
    }

    /**
     * Sets the members of a row to the values of its class, those of has-one relations included.
     * What was not asked for stays as it is. Returns the row.
     */
    public <T> T into(T row) {
      SvcName name = row.getClass().getAnnotation(SvcName.class);
      if (name == null) {
        throw new IllegalArgumentException(row.getClass() + " is the class of no feature class");
      }
      SvcJson.Tree tree = new SvcJson.Tree();
      String prefix = name.value() + ".";
      values.forEach(
          (path, value) -> {
            if (path.startsWith(prefix) && value != null) {
              tree.plant(path.substring(prefix.length()), value);
            }
          });
      SvcJson.fill(row, tree);
      return row;
    }
  }

  /** What one of several queries came to. */
  public static final class Outcome {
    private final Result result;
    private final SvcException error;

    private Outcome(Map<?, ?> json) {
      boolean isRefused = text(json, "code") != null;
      this.result = isRefused ? null : new Result(json);
      this.error = isRefused ? refusal(json, 400, "the query was refused") : null;
    }

    /** The result. Throws SvcException when the query was refused. */
    public Result result() {
      if (error != null) {
        throw error;
      }
      return result;
    }

    /** Why the query was refused; null when it was not. */
    public SvcException error() {
      return error;
    }
  }

  /** What an answer in Arrow says beside its columns. */
  public static final class ArrowFacts extends Answer {
    /** Reads them of the metadata of the answer's schema, `schema.getCustomMetadata()`. */
    public ArrowFacts(Map<String, String> metadata) {
      super(facts(metadata));
    }

    private static Map<?, ?> facts(Map<String, String> metadata) {
      Map<String, Object> facts = new LinkedHashMap<>();
      for (String name : List.of("errors", "meta")) {
        if (metadata.get("svc." + name) != null) {
          facts.put(name, SvcJson.parse(metadata.get("svc." + name)));
        }
      }
      return facts;
    }
  }

  /** The answer to a bulk query. */
  public static final class BulkResult extends Answer {
    private final Map<String, Object> columns = new LinkedHashMap<>();

    private BulkResult(Map<?, ?> json) {
      super(json);
      if (json.get("data") instanceof Map) {
        ((Map<?, ?>) json.get("data")).forEach((name, values) -> columns.put(name.toString(), values));
      }
    }

    /** The features of the answer, in their order. */
    public List<String> names() {
      return new ArrayList<>(columns.keySet());
    }

    List<?> column(String name) {
      return (List<?>) asked(columns, name);
    }
  }

  /**
   * Computes or serves features of one row. Throws SvcException when the query is refused or nothing
   * answers; what fails while it runs is in the result.
   */
  public Result query(Query query) {
    return new Result(post("/v1/query/online", query.body(options.deploymentId), true));
  }

  /**
   * Asks several queries in one request, which may be of different classes. Gives what each came to,
   * in their order. Throws SvcException when they are refused together, as more than 100 are, or
   * nothing answers.
   */
  public List<Outcome> queryMulti(List<Query> queries) {
    List<Object> bodies = new ArrayList<>();
    for (Query query : queries) {
      bodies.add(query.body(options.deploymentId));
    }
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("queries", bodies);
    Object said = post("/v1/query/multi", body, true).get("outcomes");
    List<Outcome> outcomes = new ArrayList<>();
    for (Object outcome : said instanceof List ? (List<?>) said : List.of()) {
      outcomes.add(new Outcome(outcome instanceof Map ? (Map<?, ?>) outcome : Map.of()));
    }
    if (outcomes.size() != bodies.size()) {
      String message = "the server answered " + bodies.size() + " queries with " + outcomes.size() + " outcomes";
      throw new SvcException("unexpected_answer", message);
    }
    return outcomes;
  }

  /** Computes or serves features of many rows. Throws SvcException, as `query` does. */
  public BulkResult queryBulk(BulkQuery query) {
    return new BulkResult(post("/v1/query/bulk", query.body(options.deploymentId), true));
  }

  /**
   * Asks for many rows as a table of Arrow: a stream of its IPC format, whose columns are the inputs,
   * and whose schema has the rest of the query under ARROW_QUERY, as `arrowQuery` writes it. Gives
   * such a stream, with a column for each output; `ArrowFacts` reads what its schema says beside
   * them. Throws SvcException, as `query` does.
   */
  public byte[] queryBulkArrow(byte[] table) {
    return exchange("/v1/query/bulk", ARROW_STREAM, table, true, SvcClient::table);
  }

  /**
   * A query without its inputs, as the schema of a table that is asked with `queryBulkArrow` has it
   * under ARROW_QUERY.
   */
  public String arrowQuery(BulkQuery query) {
    if (!query.inputs.isEmpty()) {
      throw new IllegalArgumentException("the inputs of a query in Arrow are the columns of its table: give none");
    }
    Map<String, Object> body = query.body(options.deploymentId);
    body.remove("inputs");
    return SvcJson.write(body);
  }

  /** Stores values. Throws SvcException with what is wrong with them; then nothing is stored. */
  public UploadResult uploadFeatures(Upload upload) {
    Map<String, Object> body = new LinkedHashMap<>(upload.more);
    body.put("columns", upload.columns);
    // Sent twice, it could ask for two approvals.
    return new UploadResult(post("/v1/features/upload", body, upload.more.containsKey("dry_run")));
  }

  /** idempotent: whether it has no further effect when it is sent twice. */
  private Map<?, ?> post(String path, Map<String, Object> body, boolean idempotent) {
    return exchange(path, JSON, bytes(body), idempotent, SvcClient::object);
  }

  /** Sends content of a type with a token, which is also the type of the answer that `read` takes. */
  private <T> T exchange(String path, String type, byte[] content, boolean idempotent, Reader<T> read) {
    long deadline = System.nanoTime() + options.timeout.toNanos();
    String[] login = login(deadline, null);
    try {
      return send(login[1] + path, type, content, login[0], deadline, idempotent, read);
    } catch (SvcException refused) {
      if (refused.status() != 401) {
        throw refused;
      }
      login = login(deadline, login[0]);
      return send(login[1] + path, type, content, login[0], deadline, idempotent, read);
    }
  }

  /** Makes something of an answer from an address. Throws SvcException. */
  private interface Reader<T> {
    T read(String address, HttpResponse<byte[]> response);
  }

  private static byte[] bytes(Map<String, Object> body) {
    return SvcJson.write(body).getBytes(StandardCharsets.UTF_8);
  }

  /** The token and the address for queries; a refused or old token is exchanged for a new one. */
  private synchronized String[] login(long deadline, String refused) {
    if (token == null || token.equals(refused) || System.nanoTime() - refreshAt >= 0) {
      Map<String, Object> credentials = new LinkedHashMap<>();
      credentials.put("grant_type", "client_credentials");
      credentials.put("client_id", options.clientId);
      credentials.put("client_secret", options.clientSecret);
      Map<?, ?> grant;
      try {
        grant = send(server + "/v1/oauth/token", JSON, bytes(credentials), null, deadline, true, SvcClient::object);
      } catch (SvcException error) {
        boolean isRefusal = error.status() == 400 || error.status() == 401;
        String code = isRefusal ? "unauthenticated" : error.code();
        throw new SvcException(code, error.getMessage(), error.status(), error.errors(), error);
      }
      token = text(grant, "access_token");
      if (token == null || !(grant.get("expires_in") instanceof BigDecimal)) {
        throw new SvcException("unexpected_answer", server + " answered the token exchange without a token");
      }
      double life = ((BigDecimal) grant.get("expires_in")).doubleValue();
      refreshAt = System.nanoTime() + (long) ((life - Math.min(60, life / 10)) * 1e9);
      queries = engine(grant);
    }
    return new String[] {token, queries};
  }

  private String engine(Map<?, ?> grant) {
    String environment = text(grant, "primary_environment");
    if (grant.get("environments") instanceof Map) {
      for (Map.Entry<?, ?> known : ((Map<?, ?>) grant.get("environments")).entrySet()) {
        if (options.environment.equals(known.getKey()) || options.environment.equals(known.getValue())) {
          environment = known.getKey().toString();
        }
      }
    }
    Object engine = grant.get("engines") instanceof Map ? ((Map<?, ?>) grant.get("engines")).get(environment) : null;
    return engine instanceof String ? address((String) engine) : server;
  }

  /** Sends a request, again after a pause while the server is not available and there is time. */
  private <T> T send(
      String address, String type, byte[] content, String bearer, long deadline, boolean idempotent, Reader<T> read) {
    long pause = FIRST_PAUSE_MS;
    while (true) {
      long wait = 0;
      boolean isUntouched;
      SvcException failure;
      try {
        HttpResponse<byte[]> response = exchange(address, type, content, bearer, deadline);
        if (response.statusCode() == 200) {
          return read.read(address, response);
        }
        failure = refusal(address, response);
        Optional<String> asked = response.headers().firstValue("retry-after");
        isUntouched = asked.isPresent();
        wait = asked.map(SvcClient::seconds).orElse(0L);
      } catch (SvcException unanswered) {
        failure = unanswered;
        isUntouched =
            failure.getCause() instanceof ConnectException || failure.getCause() instanceof HttpConnectTimeoutException;
      }
      wait = Math.max(wait, pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2 + 1));
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (!failure.code().equals("unavailable") || left <= wait || !(idempotent || isUntouched)) {
        throw failure;
      }
      try {
        Thread.sleep(wait);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw failure;
      }
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
  }

  private HttpResponse<byte[]> exchange(String address, String type, byte[] content, String bearer, long deadline) {
    long left = Math.max(1, (deadline - System.nanoTime()) / 1_000_000);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address))
            .header("content-type", type)
            .header("accept", type)
            .header("accept-encoding", "gzip")
            .header("connect-timeout-ms", String.valueOf(left))
            .POST(HttpRequest.BodyPublishers.ofByteArray(content));
    if (bearer != null) {
      request.header("authorization", "Bearer " + bearer);
      if (!options.environment.isEmpty()) {
        request.header("svc-environment", headerText(options.environment));
      }
      if (!options.branch.isEmpty()) {
        request.header("svc-branch", headerText(options.branch));
      }
    }
    CompletableFuture<HttpResponse<byte[]>> answer = http.sendAsync(request.build(), SvcClient::body);
    try {
      return answer.get(left + GRACE_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException error) {
      answer.cancel(true);
      throw new SvcException("deadline_exceeded", address + " did not answer in time", 0, List.of(), error);
    } catch (InterruptedException error) {
      answer.cancel(true);
      Thread.currentThread().interrupt();
      throw new SvcException("canceled", "the call of " + address + " was given up", 0, List.of(), error);
    } catch (ExecutionException error) {
      Throwable cause = error.getCause();
      String said = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
      boolean isLost = cause instanceof IOException;
      String message = address + (isLost ? " cannot be reached: " : ": ") + said;
      throw new SvcException(isLost ? "unavailable" : "unexpected_answer", message, 0, List.of(), cause);
    }
  }

  /** The reader of a body: its bytes up to a bound, inflated where it says that it is compressed. */
  private static HttpResponse.BodySubscriber<byte[]> body(HttpResponse.ResponseInfo info) {
    boolean isPacked = info.headers().firstValue("content-encoding").orElse("").equalsIgnoreCase("gzip");
    return isPacked ? HttpResponse.BodySubscribers.mapping(new Bounded(), SvcClient::inflated) : new Bounded();
  }

  /** What was compressed, which has the length that its last four bytes say, and not a byte more. */
  private static byte[] inflated(byte[] packed) {
    int end = packed.length;
    int said = end < 4 ? 0 : ByteBuffer.wrap(packed, end - 4, 4).order(ByteOrder.LITTLE_ENDIAN).getInt();
    long length = Integer.toUnsignedLong(said);
    try (InputStream content = new GZIPInputStream(new ByteArrayInputStream(packed), 1 << 16)) {
      if (length > MOST_BYTES) {
        throw new IllegalStateException(TOO_LONG);
      }
      byte[] bytes = new byte[(int) Math.min(length, MOST_OF_A_BYTE * end)];
      if (content.readNBytes(bytes, 0, bytes.length) < length || content.read() >= 0) {
        throw new IOException("it has another length than it says");
      }
      return bytes;
    } catch (IOException error) {
      throw new IllegalStateException("it answers with what is no gzip: " + error.getMessage(), error);
    }
  }

  private static byte[] table(String address, HttpResponse<byte[]> response) {
    String type = response.headers().firstValue("content-type").orElse("nothing");
    if (!type.equals(ARROW_STREAM)) {
      String message = address + " answered with " + type + " instead of a table of Arrow: is the server older than this client?";
      throw new SvcException("unexpected_answer", message, response.statusCode(), List.of(), null);
    }
    return response.body();
  }

  private static Map<?, ?> object(String address, HttpResponse<byte[]> response) {
    try {
      return (Map<?, ?>) SvcJson.parse(new String(response.body(), StandardCharsets.UTF_8));
    } catch (IllegalArgumentException | ClassCastException error) {
      String message = address + " answered with what is no JSON object: is it an svc server?";
      throw new SvcException("unexpected_answer", message, response.statusCode(), List.of(), error);
    }
  }

  private static SvcException refusal(String address, HttpResponse<byte[]> response) {
    Map<?, ?> said = Map.of();
    try {
      said = object(address, response);
    } catch (SvcException noJson) {
      // The status says enough.
    }
    return refusal(said, response.statusCode(), address + " answered " + response.statusCode());
  }

  /** A refusal as JSON has it; `otherwise` is its message where it has none. */
  private static SvcException refusal(Map<?, ?> said, int status, String otherwise) {
    String code = text(said, "code");
    if (status == 503) {
      code = "unavailable";
    } else if (status == 401) {
      code = "unauthenticated";
    }
    String message = text(said, "message");
    String hint = text(said, "hint");
    String full = (message == null ? otherwise : message) + (hint == null ? "" : " " + hint);
    return new SvcException(code == null ? "unexpected_answer" : code, full, status, details(said.get("errors")), null);
  }

  private static List<ErrorDetail> details(Object json) {
    List<ErrorDetail> details = new ArrayList<>();
    for (Object item : json instanceof List ? (List<?>) json : List.of()) {
      if (item instanceof Map) {
        details.add(new ErrorDetail((Map<?, ?>) item));
      }
    }
    return details;
  }

  private static Object asked(Map<String, Object> values, String name) {
    if (!values.containsKey(name)) {
      throw new IllegalArgumentException(name + " is not among the outputs");
    }
    return values.get(name);
  }

  private static String text(Map<?, ?> json, String name) {
    return json.get(name) instanceof String ? (String) json.get(name) : null;
  }

  private static long seconds(String header) {
    return header.matches("\\d{1,4}") ? Long.parseLong(header) * 1000 : 0;
  }

  /** A text as headers can have it: what is not ASCII, and %, as in a URL. */
  private static String headerText(String text) {
    StringBuilder written = new StringBuilder();
    for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
      boolean isPlain = b > ' ' && b < 0x7f && b != '%';
      written.append(isPlain ? String.valueOf((char) b) : String.format("%%%02X", b));
    }
    return written.toString();
  }

  private static String address(String given) {
    String text = given.trim();
    if (text.isEmpty()) {
      return "http://127.0.0.1:5757";
    }
    if (!text.contains("://")) {
      boolean isOwn = text.matches("(localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\])(:\\d+)?(/.*)?");
      text = (isOwn ? "http://" : "https://") + text;
    }
    URI uri = URI.create(text);
    boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
    if (!isHttp || uri.getHost() == null || uri.getUserInfo() != null || uri.getQuery() != null) {
      throw new IllegalArgumentException(given + " is no address of a server; write it as https://host, or host:port");
    }
    return text.replaceAll("/+$", "");
  }

  /** The bytes of an answer, up to a bound. */
  private static final class Bounded implements HttpResponse.BodySubscriber<byte[]> {
    private final CompletableFuture<byte[]> body = new CompletableFuture<>();
    private final ByteArrayOutputStream read = new ByteArrayOutputStream();
    private Flow.Subscription subscription;

    @Override
    public CompletionStage<byte[]> getBody() {
      return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      this.subscription = subscription;
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> parts) {
      for (ByteBuffer part : parts) {
        if (read.size() + (long) part.remaining() > MOST_BYTES) {
          subscription.cancel();
          body.completeExceptionally(new IllegalStateException(TOO_LONG));
          return;
        }
        byte[] bytes = new byte[part.remaining()];
        part.get(bytes);
        read.write(bytes, 0, bytes.length);
      }
    }

    @Override
    public void onError(Throwable error) {
      body.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
      body.complete(read.toByteArray());
    }
  }
}
