package com.example.table;

import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The conformance table by the client that `svc codegen java` writes: `Table TABLE CLASS...` prints one
 * outcome per request, as JSON. Features are those of the generated classes, with their types; names
 * and values that these do not take are given as `Feature.named`.
 */
public final class Table {
  /** A feature of the generated code, and the type of its values. */
  private static final class Typed {
    final Feature<Object> feature;
    final Type type;

    @SuppressWarnings("unchecked")
    Typed(Object feature, Type type) {
      this.feature = (Feature<Object>) feature;
      this.type = type;
    }
  }

  private static final class Unfit extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private static final Map<String, Typed> TYPED = new TreeMap<>();

  public static void main(String[] args) throws Exception {
    for (int at = 1; at < args.length; at++) {
      collect(Class.forName(Table.class.getPackageName() + "." + args[at]).getField("FEATURES").get(null), 2);
    }
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    SvcClient shared = new SvcClient();
    for (Object request : (List<?>) SvcJson.parse(Files.readString(Path.of(args[0])))) {
      Map<?, ?> of = (Map<?, ?>) request;
      SvcClient client = of.get("client") == null ? shared : clientOf((Map<?, ?>) of.get("client"));
      out.println(SvcJson.write(outcomeOf(client, of)));
    }
  }

  private static void collect(Object features, int depth) throws ReflectiveOperationException {
    for (Method method : features.getClass().getDeclaredMethods()) {
      if (method.getReturnType() == Feature.class) {
        Typed typed = new Typed(method.invoke(features), ((ParameterizedType) method.getGenericReturnType()).getActualTypeArguments()[0]);
        TYPED.put(typed.feature.name(), typed);
      } else if (depth > 0) {
        collect(method.invoke(features), depth - 1);
      }
    }
  }

  private static Typed featureOf(String name) {
    Typed known = TYPED.get(name);
    return known == null ? new Typed(Feature.named(name), Object.class) : known;
  }

  private static SvcClient clientOf(Map<?, ?> own) {
    SvcClient.Options options = new SvcClient.Options();
    if (own.get("client_secret") != null) {
      options.credentials(System.getenv("SVC_CLIENT_ID"), (String) own.get("client_secret"));
    }
    if (own.get("branch") != null) {
      options.branch((String) own.get("branch"));
    }
    if (own.get("environment") != null) {
      options.environment((String) own.get("environment"));
    }
    if (own.get("deployment_id") != null) {
      options.deploymentId((String) own.get("deployment_id"));
    }
    if (own.get("timeout_ms") != null) {
      options.timeout(Duration.ofMillis(((BigDecimal) own.get("timeout_ms")).longValue()));
    }
    if (own.get("api_server") != null) {
      // It is not there, and is asked for a minute.
      options.apiServer((String) own.get("api_server")).timeout(Duration.ofSeconds(1));
    }
    return new SvcClient(options);
  }

  private static Map<String, Object> outcomeOf(SvcClient client, Map<?, ?> of) {
    try {
      return ask(client, of);
    } catch (SvcException error) {
      return refusalOf(error);
    }
  }

  private static Map<String, Object> refusalOf(SvcException error) {
    boolean isUnreachable = error.code().equals("unavailable") && error.status() == 0;
    if (error.code().equals("unauthenticated") || isUnreachable) {
      return Map.of("refused", isUnreachable ? "unreachable" : "authentication");
    }
    boolean isQuery = !error.errors().isEmpty();
    return Map.of("refused", isQuery ? "query" : error.toString(), "errors", errorsOf(error.errors()));
  }

  private static Map<String, Object> ask(SvcClient client, Map<?, ?> of) {
    Map<?, ?> inputs = (Map<?, ?>) of.get("inputs");
    Map<?, ?> options = of.get("options") == null ? Map.of() : (Map<?, ?>) of.get("options");
    if (of.get("call").equals("upload")) {
      SvcClient.Upload upload = new SvcClient.Upload();
      inputs.forEach((name, values) -> column((String) name, (List<?>) values, upload::column));
      if (of.get("dry_run") != null) {
        upload.dryRun();
      }
      SvcClient.UploadResult stored = client.uploadFeatures(upload);
      return Map.of("stored", List.of(stored.rows, stored.onlineValues, stored.offlineValues));
    }
    if (of.get("call").equals("bulk")) {
      SvcClient.BulkQuery query = new SvcClient.BulkQuery().output(outputsOf(of));
      Map<String, Object> values = new LinkedHashMap<>();
      inputs.forEach((name, given) -> column((String) name, (List<?>) given, query::input));
      if (options.get("now") != null) {
        List<Instant> times = new ArrayList<>();
        ((List<?>) options.get("now")).forEach(at -> times.add(Instant.parse((String) at)));
        query.now(times);
      }
      SvcClient.BulkResult result = client.queryBulk(query);
      result.names().forEach(name -> values.put(name, printed(featureOf(name).feature.in(result))));
      return outcomeOf("columns", values, result.errors(), result.inferredOutputs(), result.explanation(), result.traceId());
    }
    if (of.get("call").equals("multi")) {
      List<SvcClient.Query> queries = new ArrayList<>();
      ((List<?>) of.get("queries")).forEach(one -> queries.add(queryOf((Map<?, ?>) one)));
      List<Object> outcomes = new ArrayList<>();
      for (SvcClient.Outcome outcome : client.queryMulti(queries)) {
        outcomes.add(outcome.error() == null ? resultOf(outcome.result()) : refusalOf(outcome.error()));
      }
      return Map.of("outcomes", outcomes);
    }
    return resultOf(client.query(queryOf(of)));
  }

  private static SvcClient.Query queryOf(Map<?, ?> of) {
    SvcClient.Query query = new SvcClient.Query().output(outputsOf(of));
    ((Map<?, ?>) of.get("inputs")).forEach((name, given) -> input(query, (String) name, given));
    configure(query, of.get("options") == null ? Map.of() : (Map<?, ?>) of.get("options"));
    return query;
  }

  private static Feature<?>[] outputsOf(Map<?, ?> of) {
    List<Feature<?>> asked = new ArrayList<>();
    for (Object name : of.get("outputs") == null ? List.of() : (List<?>) of.get("outputs")) {
      asked.add(featureOf((String) name).feature);
    }
    return asked.toArray(new Feature<?>[0]);
  }

  private static Map<String, Object> resultOf(SvcClient.Result result) {
    Map<String, Object> values = new LinkedHashMap<>();
    Map<String, Object> hits = new LinkedHashMap<>();
    for (String name : result.names()) {
      values.put(name, printed(featureOf(name).feature.in(result)));
      SvcClient.Origin origin = result.origin(featureOf(name).feature);
      if (origin != null) {
        hits.put(name, origin.cacheHit);
      }
    }
    Map<String, Object> outcome =
        outcomeOf("values", values, result.errors(), result.inferredOutputs(), result.explanation(), result.traceId());
    outcome.put("hits", hits);
    return outcome;
  }

  private static void configure(SvcClient.Query query, Map<?, ?> options) {
    if (options.get("now") != null) {
      query.now(OffsetDateTime.parse((String) options.get("now")).toInstant());
    }
    if (options.get("tags") != null) {
      query.tags(((List<?>) options.get("tags")).toArray(new String[0]));
    }
    if (options.get("query_context") != null) {
      query.context(named(options.get("query_context")));
    }
    if (options.get("query_name") != null) {
      query.named((String) options.get("query_name"), (String) options.get("query_name_version"));
    }
    if (options.get("planner_options") != null) {
      query.plannerOptions(named(options.get("planner_options")));
    }
    if (options.get("staleness") != null) {
      named(options.get("staleness"))
          .forEach((name, age) -> query.staleness(Feature.named(name), Duration.parse("PT" + age.toString().toUpperCase())));
    }
    if (options.get("include_meta") != null) {
      query.includeMeta();
    }
    if (options.get("explain") != null) {
      query.explain();
    }
    if (options.get("trace") != null) {
      query.trace();
    }
  }

  private static Map<String, Object> named(Object members) {
    Map<String, Object> named = new LinkedHashMap<>();
    ((Map<?, ?>) members).forEach((name, value) -> named.put((String) name, value));
    return named;
  }

  private static Map<String, Object> outcomeOf(
      String about, Map<String, Object> values, List<SvcClient.ErrorDetail> errors, List<String> inferred, String plan, String trace) {
    Map<String, Object> outcome = new LinkedHashMap<>();
    outcome.put(about, values);
    outcome.put("errors", errorsOf(errors));
    outcome.put("inferred", inferred);
    outcome.put("explained", plan != null);
    outcome.put("traced", trace != null);
    return outcome;
  }

  private static List<Object> errorsOf(List<SvcClient.ErrorDetail> details) {
    List<Object> said = new ArrayList<>();
    for (SvcClient.ErrorDetail detail : details) {
      Map<String, Object> of = new LinkedHashMap<>();
      of.put("code", detail.code);
      of.put("category", detail.category);
      of.put("message", detail.message);
      of.put("feature", detail.feature);
      of.put("resolver", detail.resolver);
      of.put("kind", detail.exception);
      of.put("row", detail.row);
      of.values().removeIf(value -> value == null);
      said.add(of);
    }
    return said;
  }

  private static void input(SvcClient.Query query, String name, Object given) {
    Typed typed = featureOf(name);
    Object value;
    try {
      value = decoded(given, typed.type);
    } catch (Unfit error) {
      query.input(Feature.named(name), plain(given));
      return;
    }
    query.input(typed.feature, value);
  }

  private interface Column {
    void give(Feature<Object> feature, List<Object> values);
  }

  private static void column(String name, List<?> given, Column column) {
    Typed typed = featureOf(name);
    List<Object> values = new ArrayList<>();
    try {
      given.forEach(value -> values.add(decoded(value, typed.type)));
    } catch (Unfit error) {
      values.clear();
      given.forEach(value -> values.add(plain(value)));
      column.give(Feature.named(name), values);
      return;
    }
    column.give(typed.feature, values);
  }

  /** A value of the table as the type has it. Throws Unfit. */
  private static Object decoded(Object given, Type type) {
    if (given == null) {
      return null;
    }
    if (type == Object.class) {
      return plain(given);
    }
    Map.Entry<?, ?> tagged = given instanceof Map ? ((Map<?, ?>) given).entrySet().iterator().next() : Map.entry("", given);
    String tag = (String) tagged.getKey();
    Object content = tagged.getValue();
    if (type instanceof ParameterizedType && content instanceof List) {
      ParameterizedType of = (ParameterizedType) type;
      Collection<Object> items = of.getRawType() == Set.class ? new LinkedHashSet<>() : new ArrayList<>();
      ((List<?>) content).forEach(item -> items.add(decoded(item, of.getActualTypeArguments()[0])));
      return items;
    }
    Class<?> wanted = type instanceof Class ? (Class<?>) type : Object.class;
    if (wanted.isEnum()) {
      for (Object constant : wanted.getEnumConstants()) {
        if (((SvcEnum) constant).value().equals(content)) {
          return constant;
        }
      }
      throw new Unfit();
    }
    try {
      switch (wanted.getSimpleName() + tag) {
        case "String":
        case "Boolean":
          return wanted.cast(content);
        case "Long$int":
          return Long.valueOf((String) content);
        case "Double$float":
          return Double.valueOf((String) content);
        case "byte[]$bytes":
          return Base64.getDecoder().decode((String) content);
        case "LocalDate$date":
          return LocalDate.parse((String) content);
        case "Instant$time":
          return Instant.parse((String) content);
        case "Duration$duration":
          return Duration.ofSeconds(0).plus(Long.parseLong((String) content), java.time.temporal.ChronoUnit.MICROS);
        case "BigDecimal$decimal":
          return new BigDecimal((String) content);
        default:
          if (!tag.equals("$struct")) {
            throw new Unfit();
          }
      }
      Object made = wanted.getDeclaredConstructor().newInstance();
      for (Field field : wanted.getDeclaredFields()) {
        SvcName name = field.getAnnotation(SvcName.class);
        if (name != null) {
          field.set(made, decoded(((Map<?, ?>) content).get(name.value()), field.getGenericType()));
        }
      }
      return made;
    } catch (ReflectiveOperationException | NumberFormatException | ClassCastException error) {
      throw new Unfit();
    }
  }

  /** A value of the table as a feature without a type takes it. */
  private static Object plain(Object given) {
    if (!(given instanceof Map)) {
      return given;
    }
    Map.Entry<?, ?> tagged = ((Map<?, ?>) given).entrySet().iterator().next();
    String tag = (String) tagged.getKey();
    if (tag.equals("$int")) {
      return new BigInteger((String) tagged.getValue());
    }
    return tag.equals("$float") ? Double.valueOf((String) tagged.getValue()) : SvcJson.decode(tagged.getValue(), Object.class);
  }

  /** A value of an answer as JSON that keeps its digits. */
  private static Object printed(Object value) {
    if (value == null || value instanceof Boolean || value instanceof String) {
      return value;
    }
    if (value instanceof Long) {
      return (Long) value >> 53 == 0 ? value : value.toString();
    }
    if (value instanceof Double) {
      boolean isPlain = Double.isFinite((Double) value) && (Double) value != 0;
      return isPlain ? value : value.toString();
    }
    if (value instanceof byte[]) {
      return Base64.getEncoder().encodeToString((byte[]) value);
    }
    if (value instanceof Duration) {
      Duration length = (Duration) value;
      BigDecimal seconds = BigDecimal.valueOf(length.getSeconds()).add(BigDecimal.valueOf(length.getNano(), 9));
      return seconds.setScale(6).toPlainString() + "s";
    }
    if (value instanceof SvcEnum) {
      return ((SvcEnum) value).value();
    }
    if (value instanceof Collection) {
      List<Object> items = new ArrayList<>();
      ((Collection<?>) value).forEach(item -> items.add(printed(item)));
      return items;
    }
    Map<String, Object> members = new LinkedHashMap<>();
    if (value instanceof Map) {
      ((Map<?, ?>) value).forEach((name, member) -> members.put((String) name, printed(member)));
      return members;
    }
    for (Field field : value.getClass().getDeclaredFields()) {
      SvcName name = field.getAnnotation(SvcName.class);
      if (name != null) {
        try {
          members.put(name.value(), printed(field.get(value)));
        } catch (IllegalAccessException error) {
          throw new IllegalStateException(error);
        }
      }
    }
    return members.isEmpty() ? value.toString() : members;
  }
}
