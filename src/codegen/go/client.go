package features

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Feature names a feature whose values are of type T. As an output it asks for the feature.
type Feature[T any] struct{ name string }

// Output is a feature that a query asks for.
type Output interface{ Name() string }

// Input is the value of a feature that a query is given.
type Input struct {
	name  string
	value any
}

// Column is the values of a feature that a bulk query is given.
type Column struct {
	name   string
	values []any
}

// Row is a struct of a feature class.
type Row interface{ svcNamespace() string }

// Named is the feature with a name, of whatever type; it may be a class too.
func Named(name string) Feature[any] { return Feature[any]{name} }

// Name is the fully qualified name, or the path from the class that is asked for.
func (f Feature[T]) Name() string { return f.name }

// Is gives a query the value of the feature.
func (f Feature[T]) Is(value T) Input { return Input{f.name, value} }

// IsNull gives a query null as the value of the feature.
func (f Feature[T]) IsNull() Input { return Input{f.name, nil} }

// Are gives a bulk query the values of the feature, one a row; a single one is for all rows. To an
// upload they are those of its rows.
func (f Feature[T]) Are(values ...T) Column {
	column := Column{name: f.name, values: make([]any, len(values))}
	for i, value := range values {
		column.values[i] = value
	}
	return column
}

// AreOrNull gives values as Are does; nil stands for null.
func (f Feature[T]) AreOrNull(values ...*T) Column {
	column := Column{name: f.name, values: make([]any, len(values))}
	for i, value := range values {
		column.values[i] = value
	}
	return column
}

// Origin says where the value in an answer came from; nil unless the query has IncludeMeta.
func (f Feature[T]) Origin(result *SvcResult) *SvcOrigin { return result.origins[f.name] }

// In is the value in an answer; nil stands for null. The error is an SvcErrorDetail where the
// feature failed.
func (f Feature[T]) In(result *SvcResult) (*T, error) {
	if failure, failed := result.failed[f.name]; failed {
		return nil, failure
	}
	raw, asked := result.values[f.name]
	if !asked {
		return nil, fmt.Errorf("%s is not among the outputs", f.name)
	}
	return decodeAs[T](f.name, raw)
}

// Column is the values in the answer to a bulk query, one a row; nil stands for null and for what
// failed.
func (f Feature[T]) Column(result *SvcBulkResult) ([]*T, error) {
	column, asked := result.columns.values[f.name]
	if !asked {
		return nil, fmt.Errorf("%s is not among the outputs", f.name)
	}
	values := make([]*T, len(column))
	for i, raw := range column {
		value, err := decodeAs[T](f.name, raw)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

// Ptr is a pointer to a value, as the members of rows are.
func Ptr[T any](value T) *T { return &value }

// Date is a calendar date, "2024-05-01".
type Date string

// Time is the beginning of the date in UTC.
func (d Date) Time() (time.Time, error) { return time.Parse(time.DateOnly, string(d)) }

// DateOf is the date of a time in its own location.
func DateOf(at time.Time) Date { return Date(at.Format(time.DateOnly)) }

// Decimal is a decimal number with its digits as they were written, "12.340".
type Decimal string

// Rat is the number itself; false when the text is none.
func (d Decimal) Rat() (*big.Rat, bool) { return new(big.Rat).SetString(string(d)) }

// SvcOptions are the settings of a client. What is left empty comes from the environment variables
// SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_ENVIRONMENT and SVC_API_SERVER.
type SvcOptions struct {
	ClientID     string
	ClientSecret string
	Environment  string
	// APIServer is the server's address; default http://127.0.0.1:5757.
	APIServer string
	// Branch and DeploymentID ask a branch or one deployment in place of what is live.
	Branch       string
	DeploymentID string
	// Timeout bounds a call with all of its retries; default a minute. When it passes, the server
	// answers with what it has by then. A context with a deadline may end the call sooner.
	Timeout time.Duration
	// HTTPClient sends the requests; default one that keeps its connections.
	HTTPClient *http.Client
}

// SvcClient queries a server. It may be used from any number of goroutines.
type SvcClient struct {
	options SvcOptions
	http    *http.Client
	headers map[string]string

	mutex     sync.Mutex
	token     string
	refreshAt time.Time
	queries   string
}

const (
	defaultServer  = "http://127.0.0.1:5757"
	defaultTimeout = time.Minute
	mostBytes      = 1 << 30
	mostTokenBytes = 1 << 20
	firstPause     = 50 * time.Millisecond
	graceTime      = time.Second
	longestPause   = 2 * time.Second
	arrowStream    = "application/vnd.apache.arrow.stream"
)

// NewSvcClient makes a client; nothing is sent before the first call. The error says which setting is
// missing or makes no sense.
func NewSvcClient(options SvcOptions) (*SvcClient, error) {
	for _, setting := range []struct {
		value    *string
		variable string
	}{
		{&options.ClientID, "SVC_CLIENT_ID"},
		{&options.ClientSecret, "SVC_CLIENT_SECRET"},
		{&options.Environment, "SVC_ENVIRONMENT"},
		{&options.APIServer, "SVC_API_SERVER"},
	} {
		if *setting.value == "" {
			*setting.value = os.Getenv(setting.variable)
		}
	}
	if options.ClientID == "" || options.ClientSecret == "" {
		return nil, errors.New("svc: the client needs ClientID and ClientSecret, or SVC_CLIENT_ID and SVC_CLIENT_SECRET")
	}
	server, err := serverAddress(options.APIServer)
	if err != nil {
		return nil, err
	}
	options.APIServer = server
	if options.Timeout < 0 {
		return nil, fmt.Errorf("svc: Timeout is a length of time above zero, not %v", options.Timeout)
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	client := http.Client{}
	if options.HTTPClient != nil {
		client = *options.HTTPClient
	} else if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone()
		transport.MaxIdleConnsPerHost = 64
		client.Transport = transport
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	headers := map[string]string{"svc-environment": headerText(options.Environment), "svc-branch": headerText(options.Branch)}
	return &SvcClient{options: options, http: &client, headers: headers}, nil
}

// SvcQuery is a query for one row.
type SvcQuery struct {
	Inputs []Input
	// Outputs are what is asked for; none = what the named query says, or the class of the inputs.
	Outputs []Output
	// IncludeMeta keeps where each value came from, for Feature.Origin.
	IncludeMeta bool
	SvcQueryOptions
}

// SvcBulkQuery is a query for many rows.
type SvcBulkQuery struct {
	// Inputs have one value a row, all as many, or one for all rows.
	Inputs  []Column
	Outputs []Output
	// Times are what each row is answered as of, in place of Now.
	Times []time.Time
	SvcQueryOptions
}

// SvcQueryOptions are what a query may say beside its inputs and outputs.
type SvcQueryOptions struct {
	// Staleness says how old stored values may be, by feature.
	Staleness map[Output]time.Duration
	Tags      []string
	// Now is the time to answer as of; zero = the time of the query.
	Now time.Time
	// Context is what resolvers read with svc.query_context().
	Context       map[string]any
	QueryName     string
	QueryVersion  string
	CorrelationID string
	// PlannerOptions change how the server plans the query, by name.
	PlannerOptions map[string]any
	// Explain asks for the plan, under SvcMeta.Explanation.
	Explain bool
	// Trace keeps the spans of the query, under SvcMeta.TraceID.
	Trace bool
}

// SvcMeta is about an answered query.
type SvcMeta struct {
	QueryID         string   `json:"query_id"`
	DeploymentID    string   `json:"deployment_id"`
	EnvironmentID   string   `json:"environment_id"`
	EnvironmentName string   `json:"environment_name"`
	TraceID         string   `json:"trace_id"`
	DurationSeconds float64  `json:"execution_duration_s"`
	Warnings        []string `json:"warnings"`
	// InferredOutputs are the classes that were asked for because the query named no outputs.
	InferredOutputs []string `json:"inferred_outputs"`
	Explanation     string   `json:"explain_output"`
}

// SvcOrigin is where a value came from.
type SvcOrigin struct {
	// Resolver is empty for what was given or stored.
	Resolver string `json:"resolver"`
	// CacheHit says that the value came from the online store.
	CacheHit bool `json:"cache_hit"`
}

// SvcResult is the answer to a query. Features that failed are in Errors; the others have values all
// the same.
type SvcResult struct {
	Errors  []SvcErrorDetail
	Meta    SvcMeta
	names   []string
	values  map[string]any
	failed  map[string]SvcErrorDetail
	origins map[string]*SvcOrigin
}

// Names are the features of the answer, in their order.
func (r *SvcResult) Names() []string { return r.names }

// SvcOutcome is what one of several queries came to: a result, or an error that says why the query was
// refused.
type SvcOutcome struct {
	Result *SvcResult
	Err    *SvcError
}

// SvcBulkResult is the answer to a bulk query. Values that failed are in Errors, with their rows.
type SvcBulkResult struct {
	Errors  []SvcErrorDetail
	Meta    SvcMeta
	columns svcColumns
}

// Names are the features of the answer, in their order.
func (r *SvcBulkResult) Names() []string { return r.columns.names }

// svcColumns are columns by name, in the order of the answer.
type svcColumns struct {
	names  []string
	values map[string][]any
}

// UnmarshalJSON reads an object of columns.
func (c *svcColumns) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return err
	}
	c.values = map[string][]any{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var column []any
		if err := decoder.Decode(&column); err != nil {
			return err
		}
		c.names = append(c.names, name.(string))
		c.values[name.(string)] = column
	}
	return nil
}

// SvcUpload is values of features that were observed elsewhere.
type SvcUpload struct {
	// Columns have one value a row, all as many; of each class the primary key too.
	Columns []Column
	// Time is when the rows were observed; zero = the feature time of their class, or now.
	Time time.Time
	// KnownAt is when they could be known; zero = when they are stored.
	KnownAt time.Time
	// Target is "both" (the default), "online" or "offline".
	Target string
	// DryRun checks everything and stores nothing.
	DryRun bool
}

// SvcUploadResult is what an upload stored.
type SvcUploadResult struct {
	Rows          int `json:"rows"`
	OnlineValues  int `json:"online_values"`
	OfflineValues int `json:"offline_values"`
	// DeletedValues were left out, because those of that time were deleted.
	DeletedValues int `json:"deleted_values"`
	// ApprovalID is the request that waits before anything is stored; empty = it is stored.
	ApprovalID string `json:"approval_id"`
}

// SvcErrorDetail is one error of a query.
type SvcErrorDetail struct {
	// Code and Category are names such as RESOLVER_FAILED and FIELD.
	Code     string `json:"code"`
	Category string `json:"category"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
	Feature  string `json:"feature"`
	Resolver string `json:"resolver"`
	// Row is that of a bulk query, from 0, or of an upload, from 1.
	Row *int `json:"row"`
	// Exception is what code of the project raised.
	Exception *struct {
		Kind       string `json:"kind"`
		Message    string `json:"message"`
		Stacktrace string `json:"stacktrace"`
	} `json:"exception"`
}

func (e SvcErrorDetail) Error() string {
	where := e.Feature
	if e.Row != nil {
		where = strings.TrimSuffix(fmt.Sprintf("row %d, %s", *e.Row, where), ", ")
	}
	if where == "" {
		return e.Message
	}
	return where + ": " + e.Message
}

// Codes of SvcError beside those that the server may send.
const (
	CodeUnauthenticated  = "unauthenticated"
	CodeInvalidArgument  = "invalid_argument"
	CodeUnavailable      = "unavailable"
	CodeDeadlineExceeded = "deadline_exceeded"
	CodeUnexpectedAnswer = "unexpected_answer"
)

// SvcError is a call that was not answered, or refused as a whole.
type SvcError struct {
	// Code is one such as "invalid_argument".
	Code    string
	Message string
	Hint    string
	// Status is that of HTTP; 0 = there was no answer.
	Status int
	// Errors are the single problems of a query.
	Errors []SvcErrorDetail
	cause  error
}

func (e *SvcError) Error() string {
	text := "svc: " + e.Message
	if e.Hint != "" {
		text += " " + e.Hint
	}
	return text
}

// Unwrap is the error of the connection or the context, if there was one.
func (e *SvcError) Unwrap() error { return e.cause }

// Query computes or serves features of one row. The error is an *SvcError when the query is refused
// or nothing answers; what fails while it runs is in the result.
func (c *SvcClient) Query(ctx context.Context, query SvcQuery) (*SvcResult, error) {
	body, err := c.rowBody(query)
	if err != nil {
		return nil, err
	}
	var answer svcAnswer
	if err := c.post(ctx, "/v1/query/online", body, true, &answer); err != nil {
		return nil, err
	}
	return answer.result(), nil
}

// QueryMulti asks several queries in one request, which may be of different classes. It gives what
// each came to, in their order; the error is an *SvcError when they are refused together, as more
// than 100 are, or nothing answers.
func (c *SvcClient) QueryMulti(ctx context.Context, queries []SvcQuery) ([]SvcOutcome, error) {
	bodies := make([]map[string]any, len(queries))
	for i, query := range queries {
		body, err := c.rowBody(query)
		if err != nil {
			return nil, fmt.Errorf("query %d: %w", i, err)
		}
		bodies[i] = body
	}
	var answer struct {
		Outcomes []struct {
			svcAnswer
			Code    string `json:"code"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
		} `json:"outcomes"`
	}
	if err := c.post(ctx, "/v1/query/multi", map[string]any{"queries": bodies}, true, &answer); err != nil {
		return nil, err
	}
	if len(answer.Outcomes) != len(queries) {
		text := fmt.Sprintf("the server answered %d queries with %d outcomes", len(queries), len(answer.Outcomes))
		return nil, &SvcError{Code: CodeUnexpectedAnswer, Message: text, Status: http.StatusOK}
	}
	outcomes := make([]SvcOutcome, len(queries))
	for i, said := range answer.Outcomes {
		if said.Code == "" {
			outcomes[i].Result = said.result()
		} else {
			outcomes[i].Err = &SvcError{
				Code: said.Code, Message: said.Message, Hint: said.Hint, Status: http.StatusBadRequest, Errors: said.Errors,
			}
		}
	}
	return outcomes, nil
}

// rowBody is the body of a query for one row.
func (c *SvcClient) rowBody(query SvcQuery) (map[string]any, error) {
	inputs := make(svcObject, len(query.Inputs))
	for i, input := range query.Inputs {
		inputs[i] = svcMember{input.name, encodeValue(reflect.ValueOf(input.value))}
	}
	if err := inputs.check(); err != nil {
		return nil, err
	}
	body := c.body(inputs, query.Outputs, query.SvcQueryOptions)
	if query.IncludeMeta {
		body["include_meta"] = true
	}
	return body, nil
}

// svcAnswer is the answer to a query for one row, as JSON has it.
type svcAnswer struct {
	Data []struct {
		Field string          `json:"field"`
		Value any             `json:"value"`
		Error *SvcErrorDetail `json:"error"`
		Meta  *SvcOrigin      `json:"meta"`
	} `json:"data"`
	Errors []SvcErrorDetail `json:"errors"`
	Meta   SvcMeta          `json:"meta"`
}

func (answer *svcAnswer) result() *SvcResult {
	result := &SvcResult{
		Errors:  answer.Errors,
		Meta:    answer.Meta,
		values:  map[string]any{},
		failed:  map[string]SvcErrorDetail{},
		origins: map[string]*SvcOrigin{},
	}
	for _, item := range answer.Data {
		result.names = append(result.names, item.Field)
		result.values[item.Field] = item.Value
		result.origins[item.Field] = item.Meta
		if item.Error != nil {
			result.failed[item.Field] = *item.Error
		}
	}
	return result
}

// QueryBulk computes or serves features of many rows.
func (c *SvcClient) QueryBulk(ctx context.Context, query SvcBulkQuery) (*SvcBulkResult, error) {
	inputs, err := columnsOf(query.Inputs)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data   svcColumns       `json:"data"`
		Errors []SvcErrorDetail `json:"errors"`
		Meta   SvcMeta          `json:"meta"`
	}
	body := c.rowsBody(query)
	body["inputs"] = inputs
	if err := c.post(ctx, "/v1/query/bulk", body, true, &answer); err != nil {
		return nil, err
	}
	return &SvcBulkResult{Errors: answer.Errors, Meta: answer.Meta, columns: answer.Data}, nil
}

// rowsBody is the body of a query for many rows, without its inputs.
func (c *SvcClient) rowsBody(query SvcBulkQuery) map[string]any {
	body := c.body(nil, query.Outputs, query.SvcQueryOptions)
	delete(body, "inputs")
	if len(query.Times) > 0 {
		times := make([]string, len(query.Times))
		for i, at := range query.Times {
			times[i] = timeText(at)
		}
		body["now"] = times
	}
	return body
}

// QueryBulkArrow asks for many rows as a table of Arrow: a stream of its IPC format, whose columns are
// the inputs, and whose schema has the rest of the query under SvcArrowQuery, as ArrowQuery writes it.
// It gives such a stream, with a column for each output; SvcArrowFactsOf reads what its schema says
// beside them. The error is that of QueryBulk.
func (c *SvcClient) QueryBulkArrow(ctx context.Context, table []byte) ([]byte, error) {
	var answer []byte
	if err := c.call(ctx, "/v1/query/bulk", arrowStream, table, true, &answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// SvcArrowQuery is the name in the metadata of a table's schema under which a query stands that has
// the table as its inputs.
const SvcArrowQuery = "svc.query"

// ArrowQuery is a query without its inputs, as the schema of a table that is asked with
// QueryBulkArrow has it under SvcArrowQuery.
func (c *SvcClient) ArrowQuery(query SvcBulkQuery) (string, error) {
	if len(query.Inputs) > 0 {
		return "", errors.New("svc: the inputs of a query in Arrow are the columns of its table: leave Inputs empty")
	}
	text, err := json.Marshal(c.rowsBody(query))
	if err != nil {
		return "", fmt.Errorf("svc: the query cannot be sent: %w", err)
	}
	return string(text), nil
}

// SvcArrowFacts is what an answer in Arrow says beside its columns.
type SvcArrowFacts struct {
	Errors []SvcErrorDetail
	Meta   SvcMeta
}

// SvcArrowFactsOf reads them of the metadata of the answer's schema: schema.Metadata().ToMap().
func SvcArrowFactsOf(metadata map[string]string) (SvcArrowFacts, error) {
	var facts SvcArrowFacts
	for name, into := range map[string]any{"svc.errors": &facts.Errors, "svc.meta": &facts.Meta} {
		if text, said := metadata[name]; said {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				return facts, fmt.Errorf("svc: %s of the table: %w", name, err)
			}
		}
	}
	return facts, nil
}

// UploadFeatures stores values of features. The error is an *SvcError with what is wrong with them;
// then nothing is stored.
func (c *SvcClient) UploadFeatures(ctx context.Context, upload SvcUpload) (*SvcUploadResult, error) {
	columns, err := columnsOf(upload.Columns)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"columns": columns, "dry_run": upload.DryRun}
	if upload.Target != "" {
		body["target"] = upload.Target
	}
	for name, at := range map[string]time.Time{"time": upload.Time, "known_at": upload.KnownAt} {
		if !at.IsZero() {
			body[name] = timeText(at)
		}
	}
	result := &SvcUploadResult{}
	// Sent twice, it could ask for two approvals.
	if err := c.post(ctx, "/v1/features/upload", body, upload.DryRun, result); err != nil {
		return nil, err
	}
	return result, nil
}

func columnsOf(given []Column) (svcObject, error) {
	columns := make(svcObject, len(given))
	for i, column := range given {
		values := make([]any, len(column.values))
		for i, value := range column.values {
			values[i] = encodeValue(reflect.ValueOf(value))
		}
		columns[i] = svcMember{column.name, values}
	}
	return columns, columns.check()
}

// svcObject is an object of JSON whose members keep their order.
type svcObject []svcMember

type svcMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o svcObject) MarshalJSON() ([]byte, error) {
	var written bytes.Buffer
	written.WriteByte('{')
	for i, member := range o {
		if i > 0 {
			written.WriteByte(',')
		}
		for _, part := range []any{member.name, member.value} {
			data, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			written.Write(data)
			written.WriteByte(':')
		}
		written.Truncate(written.Len() - 1)
	}
	written.WriteByte('}')
	return written.Bytes(), nil
}

func (o svcObject) check() error {
	seen := make(map[string]bool, len(o))
	for _, member := range o {
		if seen[member.name] {
			return fmt.Errorf("svc: %s is given twice", member.name)
		}
		seen[member.name] = true
	}
	return nil
}

// Into sets the members of a row to the values of its class, those of has-one relations included.
// What failed or was not asked for stays as it is.
func (r *SvcResult) Into(row Row) error {
	into := reflect.ValueOf(row)
	if into.Kind() != reflect.Pointer || into.IsNil() {
		return fmt.Errorf("svc: Into takes a pointer to a row, not %T", row)
	}
	prefix := row.svcNamespace() + "."
	tree := map[string]any{}
	for name, value := range r.values {
		path, own := strings.CutPrefix(name, prefix)
		if _, failed := r.failed[name]; own && !failed {
			plant(tree, strings.Split(path, "."), value)
		}
	}
	return decodeStruct(tree, into.Elem())
}

// plant puts a value at its path; a list of rows stays, whatever columns of them are asked for beside.
func plant(tree map[string]any, path []string, value any) {
	for _, step := range path[:len(path)-1] {
		below, ok := tree[step].(map[string]any)
		if !ok {
			if tree[step] != nil {
				return
			}
			below = map[string]any{}
			tree[step] = below
		}
		tree = below
	}
	tree[path[len(path)-1]] = value
}

func (c *SvcClient) body(inputs svcObject, outputs []Output, options SvcQueryOptions) map[string]any {
	names := make([]string, len(outputs))
	for i, output := range outputs {
		names[i] = output.Name()
	}
	body := map[string]any{
		"inputs":           inputs,
		"outputs":          names,
		"encoding_options": map[string]any{"encode_large_integers_as_numbers": true},
	}
	for name, text := range map[string]string{
		"query_name":         options.QueryName,
		"query_name_version": options.QueryVersion,
		"correlation_id":     options.CorrelationID,
		"deployment_id":      c.options.DeploymentID,
	} {
		if text != "" {
			body[name] = text
		}
	}
	if len(options.Staleness) > 0 {
		ages := make(map[string]string, len(options.Staleness))
		for feature, age := range options.Staleness {
			ages[feature.Name()] = strconv.FormatInt(age.Microseconds(), 10) + "us"
		}
		body["staleness"] = ages
	}
	if len(options.Tags) > 0 {
		body["context"] = map[string]any{"tags": options.Tags}
	}
	if !options.Now.IsZero() {
		body["now"] = timeText(options.Now)
	}
	if len(options.Context) > 0 {
		body["query_context"] = encodeValue(reflect.ValueOf(options.Context))
	}
	if len(options.PlannerOptions) > 0 {
		body["planner_options"] = options.PlannerOptions
	}
	if options.Explain {
		body["explain"] = true
	}
	if options.Trace {
		body["trace"] = true
	}
	return body
}

// call is how a request may be sent: until when, and whether twice has no further effect.
type call struct {
	ends       time.Time
	idempotent bool
}

// post sends a body, again after a pause while the server is not available and there is time.
func (c *SvcClient) post(ctx context.Context, path string, body map[string]any, idempotent bool, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("svc: the inputs cannot be sent: %w", err)
	}
	return c.call(ctx, path, "application/json", content, idempotent, answer)
}

// call sends content of a kind, as post does. Where it is a table, the answer is one, too.
func (c *SvcClient) call(ctx context.Context, path, kind string, content []byte, idempotent bool, answer any) error {
	how := call{time.Now().Add(c.options.Timeout), idempotent}
	if deadline, bounded := ctx.Deadline(); bounded && deadline.Before(how.ends) {
		how.ends = deadline
	}
	ctx, cancel := context.WithDeadline(ctx, how.ends.Add(graceTime))
	defer cancel()
	token, server, err := c.login(ctx, how.ends, "")
	if err != nil {
		return err
	}
	headers := map[string]string{"authorization": "Bearer " + token}
	for name, value := range c.headers {
		if value != "" {
			headers[name] = value
		}
	}
	failure := c.send(ctx, how, server+path, kind, content, headers, answer)
	if failure != nil && failure.Status == http.StatusUnauthorized {
		token, server, err = c.login(ctx, how.ends, token)
		if err != nil {
			return err
		}
		headers["authorization"] = "Bearer " + token
		failure = c.send(ctx, how, server+path, kind, content, headers, answer)
	}
	if failure != nil {
		return failure
	}
	return nil
}

// login is the token that is known, and the address of the server for queries; with a refused one, or
// one that is about to expire, it exchanges the client's credentials.
func (c *SvcClient) login(ctx context.Context, ends time.Time, refused string) (token, server string, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.token != "" && c.token != refused && time.Now().Before(c.refreshAt) {
		return c.token, c.queries, nil
	}
	form := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {c.options.ClientID},
		"client_secret": {c.options.ClientSecret},
	}
	var grant struct {
		AccessToken        string            `json:"access_token"`
		ExpiresIn          float64           `json:"expires_in"`
		PrimaryEnvironment string            `json:"primary_environment"`
		Environments       map[string]string `json:"environments"`
		Engines            map[string]string `json:"engines"`
	}
	server = c.options.APIServer
	failure := c.send(ctx, call{ends, true}, server+"/v1/oauth/token", "application/x-www-form-urlencoded", []byte(form.Encode()), nil, &grant)
	if failure != nil {
		if failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnauthorized {
			failure.Code = CodeUnauthenticated
		}
		return "", "", failure
	}
	if grant.AccessToken == "" {
		return "", "", &SvcError{Code: CodeUnexpectedAnswer, Message: server + " answered the token exchange without a token", Status: http.StatusOK}
	}
	life := time.Duration(grant.ExpiresIn * float64(time.Second))
	c.token, c.refreshAt, c.queries = grant.AccessToken, time.Now().Add(life-min(time.Minute, life/10)), server
	environment := grant.PrimaryEnvironment
	for id, name := range grant.Environments {
		if c.options.Environment == id || c.options.Environment == name {
			environment = id
		}
	}
	if engine := grant.Engines[environment]; engine != "" {
		if c.queries, err = serverAddress(engine); err != nil {
			return "", "", err
		}
	}
	return c.token, c.queries, nil
}

func (c *SvcClient) send(ctx context.Context, how call, address, kind string, content []byte, headers map[string]string, answer any) *SvcError {
	pause := firstPause
	for {
		failure, outcome := c.try(ctx, how.ends, address, kind, content, headers, answer)
		if failure == nil || failure.Code != CodeUnavailable || !(how.idempotent || outcome.untouched) {
			return failure
		}
		wait := max(outcome.wait, pause/2+time.Duration(rand.Int63n(int64(pause/2)+1)))
		if time.Until(how.ends) <= wait {
			return failure
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return failure
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// outcome is what a failed attempt means for the next one: the pause that the server asks for, and
// whether the request has certainly had no effect.
type outcome struct {
	wait      time.Duration
	untouched bool
}

// try sends a request once.
func (c *SvcClient) try(ctx context.Context, ends time.Time, address, kind string, content []byte, headers map[string]string, answer any) (*SvcError, outcome) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(content))
	if err != nil {
		return &SvcError{Code: CodeInvalidArgument, Message: err.Error(), cause: err}, outcome{}
	}
	request.Header.Set("content-type", kind)
	table, isTable := answer.(*[]byte)
	request.Header.Set("accept", "application/json")
	if isTable {
		request.Header.Set("accept", arrowStream)
	}
	request.Header.Set("connect-timeout-ms", strconv.FormatInt(max(1, time.Until(ends).Milliseconds()), 10))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		var broken *net.OpError
		return unanswered(ctx, address, err), outcome{untouched: errors.As(err, &broken) && broken.Op == "dial"}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	if err != nil {
		return unanswered(ctx, address, err), outcome{}
	}
	if len(data) > mostBytes {
		return &SvcError{Code: CodeUnexpectedAnswer, Message: address + " answered with more than 1 GiB", Status: response.StatusCode}, outcome{}
	}
	if response.StatusCode != http.StatusOK {
		wait, asked := retryAfter(response.Header.Get("retry-after"))
		return refusal(address, response, data), outcome{wait, asked}
	}
	if isTable {
		if got := response.Header.Get("content-type"); got != arrowStream {
			text := fmt.Sprintf("%s answered with %q instead of a table of Arrow: is the server older than this client?", address, got)
			return &SvcError{Code: CodeUnexpectedAnswer, Message: text, Status: response.StatusCode}, outcome{}
		}
		*table = data
		return nil, outcome{}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(answer); err != nil {
		text := address + " answered with what is no JSON: is it an svc server?"
		return &SvcError{Code: CodeUnexpectedAnswer, Message: text, Status: response.StatusCode, cause: err}, outcome{}
	}
	return nil, outcome{}
}

func unanswered(ctx context.Context, address string, err error) *SvcError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &SvcError{Code: CodeDeadlineExceeded, Message: address + " did not answer in time", cause: ctx.Err()}
	}
	if ctx.Err() != nil {
		return &SvcError{Code: "canceled", Message: "the call of " + address + " was given up", cause: ctx.Err()}
	}
	return &SvcError{Code: CodeUnavailable, Message: address + " cannot be reached: " + err.Error(), cause: err}
}

func refusal(address string, response *http.Response, data []byte) *SvcError {
	var said struct {
		Code             string           `json:"code"`
		Message          string           `json:"message"`
		Hint             string           `json:"hint"`
		ErrorDescription string           `json:"error_description"`
		Errors           []SvcErrorDetail `json:"errors"`
	}
	failure := &SvcError{Status: response.StatusCode}
	if len(data) <= mostTokenBytes && json.Unmarshal(data, &said) == nil {
		failure.Code, failure.Message, failure.Hint, failure.Errors = said.Code, said.Message, said.Hint, said.Errors
	}
	if failure.Message == "" {
		failure.Message = fmt.Sprintf("%s answered %s", address, response.Status)
	}
	switch {
	case response.StatusCode == http.StatusServiceUnavailable:
		failure.Code = CodeUnavailable
	case response.StatusCode == http.StatusUnauthorized:
		failure.Code = CodeUnauthenticated
	case failure.Code == "":
		failure.Code = CodeUnexpectedAnswer
	}
	return failure
}

func retryAfter(header string) (wait time.Duration, asked bool) {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && seconds >= 0 && seconds < 3600 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// headerText is a text as headers can have it: what is not ASCII, and %, as in a URL.
func headerText(text string) string {
	var written strings.Builder
	for _, b := range []byte(text) {
		if b > ' ' && b < 0x7f && b != '%' {
			written.WriteByte(b)
		} else {
			fmt.Fprintf(&written, "%%%02X", b)
		}
	}
	return written.String()
}

func timeText(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

func serverAddress(given string) (string, error) {
	if given == "" {
		return defaultServer, nil
	}
	text := strings.TrimSpace(given)
	if !strings.Contains(text, "://") {
		host := strings.Split(text, "/")[0]
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host == "localhost" || (ip != nil && ip.IsLoopback()) {
			text = "http://" + text
		} else {
			text = "https://" + text
		}
	}
	parsed, err := url.Parse(text)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" {
		return "", fmt.Errorf("svc: %q is no address of a server; write it as https://host, or host:port", given)
	}
	return strings.TrimRight(parsed.String(), "/"), nil
}

var (
	typeTime     = reflect.TypeFor[time.Time]()
	typeDuration = reflect.TypeFor[time.Duration]()
	typeBytes    = reflect.TypeFor[[]byte]()
)

// encodeValue is a value in the form that JSON has it in.
func encodeValue(value reflect.Value) any {
	if !value.IsValid() {
		return nil
	}
	switch value.Type() {
	case typeTime:
		return timeText(value.Interface().(time.Time))
	case typeDuration:
		sign, micros := "", time.Duration(value.Int()).Round(time.Microsecond).Microseconds()
		if micros < 0 {
			sign, micros = "-", -micros
		}
		return fmt.Sprintf("%s%d.%06ds", sign, micros/1e6, micros%1e6)
	case typeBytes:
		return base64.StdEncoding.EncodeToString(value.Bytes())
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		return encodeValue(value.Elem())
	case reflect.Float32, reflect.Float64:
		switch number := value.Float(); {
		case math.IsNaN(number):
			return map[string]any{"$float": "NaN"}
		case math.IsInf(number, 1):
			return map[string]any{"$float": "Infinity"}
		case math.IsInf(number, -1):
			return map[string]any{"$float": "-Infinity"}
		}
	case reflect.Slice:
		if value.IsNil() {
			return nil
		}
		items := make([]any, value.Len())
		for i := range items {
			items[i] = encodeValue(value.Index(i))
		}
		return items
	case reflect.Map:
		members := make(map[string]any, value.Len())
		for _, key := range value.MapKeys() {
			members[fmt.Sprint(key.Interface())] = encodeValue(value.MapIndex(key))
		}
		return members
	case reflect.Struct:
		_, isRow := value.Interface().(Row)
		members := map[string]any{}
		for i := range value.NumField() {
			member := value.Field(i)
			if isRow && member.IsZero() {
				continue
			}
			members[value.Type().Field(i).Tag.Get("svc")] = encodeValue(member)
		}
		return members
	}
	return value.Interface()
}

func decodeAs[T any](name string, raw any) (*T, error) {
	if raw == nil {
		return nil, nil
	}
	value := new(T)
	if err := decodeValue(raw, reflect.ValueOf(value).Elem()); err != nil {
		return nil, fmt.Errorf("svc: the value of %s: %w", name, err)
	}
	return value, nil
}

// decodeValue sets `into` to a value of JSON.
func decodeValue(raw any, into reflect.Value) error {
	if raw == nil {
		into.SetZero()
		return nil
	}
	unfit := func() error {
		return fmt.Errorf("%v does not fit the type %v: generate the code anew", raw, into.Type())
	}
	text, isText := raw.(string)
	number, isNumber := raw.(json.Number)
	if isNumber {
		text = number.String()
	}
	switch into.Type() {
	case typeTime:
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return unfit()
		}
		into.Set(reflect.ValueOf(at))
		return nil
	case typeDuration:
		seconds, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "s"))
		if !ok {
			return unfit()
		}
		nanos, exact := seconds.Mul(seconds, big.NewRat(int64(time.Second), 1)).Float64()
		if !exact || math.Abs(nanos) >= math.MaxInt64 {
			nanos = math.Round(nanos)
		}
		if math.Abs(nanos) >= math.MaxInt64 {
			return fmt.Errorf("%s s are longer than a time.Duration can be", text)
		}
		into.SetInt(int64(nanos))
		return nil
	case typeBytes:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return unfit()
		}
		into.SetBytes(data)
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		value := reflect.New(into.Type().Elem())
		if err := decodeValue(raw, value.Elem()); err != nil {
			return err
		}
		into.Set(value)
		return nil
	case reflect.Interface:
		into.Set(reflect.ValueOf(plain(raw)))
		return nil
	case reflect.String:
		if !isText && !isNumber {
			return unfit()
		}
		into.SetString(text)
		return nil
	case reflect.Bool:
		value, ok := raw.(bool)
		if !ok {
			return unfit()
		}
		into.SetBool(value)
		return nil
	case reflect.Int64:
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return unfit()
		}
		into.SetInt(value)
		return nil
	case reflect.Float64:
		if marked, ok := raw.(map[string]any); ok {
			text, _ = marked["$float"].(string)
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return unfit()
		}
		into.SetFloat(value)
		return nil
	case reflect.Slice:
		items, ok := raw.([]any)
		if !ok {
			if _, columns := raw.(map[string]any); columns {
				return nil
			}
			return unfit()
		}
		list := reflect.MakeSlice(into.Type(), len(items), len(items))
		for i, item := range items {
			if err := decodeValue(item, list.Index(i)); err != nil {
				return err
			}
		}
		into.Set(list)
		return nil
	case reflect.Struct:
		members, ok := raw.(map[string]any)
		if !ok {
			return unfit()
		}
		return decodeStruct(members, into)
	}
	return unfit()
}

// decodeStruct sets the members of a struct by their names, or by the last step of their paths.
func decodeStruct(members map[string]any, into reflect.Value) error {
	fields := make(map[string]int, into.NumField())
	for i := range into.NumField() {
		fields[into.Type().Field(i).Tag.Get("svc")] = i
	}
	for name, raw := range members {
		at, known := fields[name[strings.LastIndex(name, ".")+1:]]
		if !known {
			continue
		}
		if err := decodeValue(raw, into.Field(at)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// plain is a value of JSON as Go has it by itself: whole numbers are int64, others float64.
func plain(raw any) any {
	switch value := raw.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return whole
		}
		number, _ := value.Float64()
		return number
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = plain(item)
		}
		return items
	case map[string]any:
		if marked, ok := value["$float"].(string); ok && len(value) == 1 {
			number, _ := strconv.ParseFloat(marked, 64)
			return number
		}
		members := make(map[string]any, len(value))
		for name, member := range value {
			members[name] = plain(member)
		}
		return members
	}
	return raw
}
