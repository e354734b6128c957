// The conformance table by the client that `svc codegen go` writes: `table TABLE` prints one outcome
// per request, as JSON. Features are those of the generated code, with their types; names and values
// that these do not take are given as `Named`.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	. "example.com/table/features"
)

type object = map[string]any

type request struct {
	Call   string
	Client *struct {
		Branch       string
		Environment  string
		DeploymentID string `json:"deployment_id"`
		ClientSecret string `json:"client_secret"`
		APIServer    string `json:"api_server"`
		TimeoutMS    int64  `json:"timeout_ms"`
	}
	Inputs  members
	Outputs []string
	Queries []request
	DryRun  bool `json:"dry_run"`
	Options struct {
		Staleness      map[string]string
		Tags           []string
		Now            any
		QueryContext   map[string]any `json:"query_context"`
		QueryName      string         `json:"query_name"`
		QueryVersion   string         `json:"query_name_version"`
		PlannerOptions map[string]any `json:"planner_options"`
		IncludeMeta    bool           `json:"include_meta"`
		Explain, Trace bool
	}
}

// members are those of an object in their order.
type members []struct {
	name  string
	value any
}

func (m *members) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value any
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		*m = append(*m, struct {
			name  string
			value any
		}{name.(string), value})
	}
	return nil
}

// typed are the features of the generated code by name.
var typed = map[string]reflect.Value{}

func collect(of reflect.Value, depth int) {
	for i := range of.NumField() {
		if field := of.Field(i); of.Type().Field(i).IsExported() {
			if feature, ok := field.Interface().(Output); ok {
				typed[feature.Name()] = field
			} else {
				collect(field, depth)
			}
		}
	}
	for i := range of.NumMethod() {
		if method := of.Method(i); depth > 0 && method.Type().NumIn() == 0 {
			collect(method.Call(nil)[0], depth-1)
		}
	}
}

func featureOf(name string) reflect.Value {
	if feature, known := typed[name]; known {
		return feature
	}
	return reflect.ValueOf(Named(name))
}

// typeOf is the type of a feature's values.
func typeOf(feature reflect.Value) reflect.Type { return feature.MethodByName("Is").Type().In(0) }

var errUnfit = errors.New("the type does not take it")

// decode sets `into` to a value of the table.
func decode(given any, into reflect.Value) error {
	if into.Kind() == reflect.Interface {
		into.Set(reflect.ValueOf(plain(given)))
		return nil
	}
	if into.Kind() == reflect.Pointer {
		if given == nil {
			return nil
		}
		into.Set(reflect.New(into.Type().Elem()))
		return decode(given, into.Elem())
	}
	tag, content := "", given
	if fields, ok := given.(object); ok {
		for tag, content = range fields {
		}
	}
	text, _ := content.(string)
	switch {
	case into.Type() == reflect.TypeFor[time.Time]() && tag == "$time":
		at, err := time.Parse(time.RFC3339Nano, text)
		into.Set(reflect.ValueOf(at))
		return err
	case into.Type() == reflect.TypeFor[time.Duration]() && tag == "$duration":
		micros, err := strconv.ParseInt(text, 10, 64)
		into.SetInt(micros * 1000)
		return err
	case into.Type() == reflect.TypeFor[[]byte]() && tag == "$bytes":
		data, err := base64.StdEncoding.DecodeString(text)
		into.SetBytes(data)
		return err
	case into.Kind() == reflect.Int64 && tag == "$int":
		number, err := strconv.ParseInt(text, 10, 64)
		into.SetInt(number)
		return err
	case into.Kind() == reflect.Float64 && tag == "$float":
		number, err := strconv.ParseFloat(text, 64)
		into.SetFloat(number)
		return err
	case into.Kind() == reflect.Bool && tag == "":
		value, ok := content.(bool)
		into.SetBool(value)
		return unless(ok)
	case into.Kind() == reflect.String && (tag == "" || tag == "$date" || tag == "$decimal"):
		value, ok := content.(string)
		into.SetString(value)
		return unless(ok)
	case into.Kind() == reflect.Slice && (tag == "" || tag == "$set"):
		items, ok := content.([]any)
		into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
		for i, item := range items {
			if err := decode(item, into.Index(i)); err != nil {
				return err
			}
		}
		return unless(ok)
	case into.Kind() == reflect.Struct && tag == "$struct":
		for i := range into.NumField() {
			if err := decode(content.(object)[into.Type().Field(i).Tag.Get("svc")], into.Field(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return errUnfit
}

func unless(ok bool) error {
	if ok {
		return nil
	}
	return errUnfit
}

// plain is a value of the table as `Named` takes it.
func plain(given any) any {
	fields, ok := given.(object)
	if !ok {
		return given
	}
	for tag, content := range fields {
		switch tag {
		case "$int":
			return json.Number(content.(string))
		case "$float":
			number, _ := strconv.ParseFloat(content.(string), 64)
			return number
		default:
			return content
		}
	}
	return nil
}

func input(name string, given any) Input {
	feature := featureOf(name)
	if given == nil {
		return feature.MethodByName("IsNull").Call(nil)[0].Interface().(Input)
	}
	value := reflect.New(typeOf(feature)).Elem()
	if decode(given, value) != nil {
		return Named(name).Is(plain(given))
	}
	return feature.MethodByName("Is").Call([]reflect.Value{value})[0].Interface().(Input)
}

func column(name string, given []any) Column {
	feature := featureOf(name)
	values := reflect.MakeSlice(reflect.SliceOf(reflect.PointerTo(typeOf(feature))), len(given), len(given))
	for i, item := range given {
		if decode(item, values.Index(i)) != nil {
			plains := make([]any, len(given))
			for i, item := range given {
				plains[i] = plain(item)
			}
			return Named(name).Are(plains...)
		}
	}
	return feature.MethodByName("AreOrNull").CallSlice([]reflect.Value{values})[0].Interface().(Column)
}

// printed is a value of an answer as JSON that keeps its digits.
func printed(value reflect.Value) any {
	if !value.IsValid() {
		return nil
	}
	switch typed := value.Interface().(type) {
	case time.Time:
		return typed.UTC().Format(time.RFC3339Nano)
	case time.Duration:
		sign, micros := "", typed.Microseconds()
		if micros < 0 {
			sign, micros = "-", -micros
		}
		return fmt.Sprintf("%s%d.%06ds", sign, micros/1e6, micros%1e6)
	case []byte:
		return typed
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		return printed(value.Elem())
	case reflect.Int64:
		if whole := value.Int(); whole>>53 == 0 {
			return whole
		}
		return strconv.FormatInt(value.Int(), 10)
	case reflect.Float64:
		switch number := value.Float(); {
		case math.IsInf(number, 0):
			return strings.Trim(fmt.Sprint(number), "+") + "inity"
		case number != 0 && !math.IsNaN(number):
			return number
		}
		return strconv.FormatFloat(value.Float(), 'g', -1, 64)
	case reflect.Slice:
		items := make([]any, value.Len())
		for i := range items {
			items[i] = printed(value.Index(i))
		}
		return items
	case reflect.Map:
		members := object{}
		for _, key := range value.MapKeys() {
			members[key.String()] = printed(value.MapIndex(key))
		}
		return members
	case reflect.Struct:
		members := object{}
		for i := range value.NumField() {
			members[value.Type().Field(i).Tag.Get("svc")] = printed(value.Field(i))
		}
		return members
	}
	return value.Interface()
}

// ordered are members of an object, whose order is that of the answer.
type ordered struct {
	names  []string
	values []any
}

func (o ordered) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(o.names))
	for i, name := range o.names {
		key, _ := json.Marshal(name)
		value, err := json.Marshal(o.values[i])
		if err != nil {
			return nil, err
		}
		parts[i] = string(key) + ":" + string(value)
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

func errorsOf(details []SvcErrorDetail) []any {
	said := make([]any, len(details))
	for i, detail := range details {
		of := object{"code": detail.Code, "category": detail.Category, "message": detail.Message}
		if detail.Feature != "" {
			of["feature"] = detail.Feature
		}
		if detail.Resolver != "" {
			of["resolver"] = detail.Resolver
		}
		if detail.Exception != nil {
			of["kind"] = detail.Exception.Kind
		}
		if detail.Row != nil {
			of["row"] = *detail.Row
		}
		said[i] = of
	}
	return said
}

func outcomeOf(about string, names []string, values []any, details []SvcErrorDetail, meta SvcMeta) object {
	inferred := meta.InferredOutputs
	if inferred == nil {
		inferred = []string{}
	}
	return object{
		about:       ordered{names, values},
		"errors":    errorsOf(details),
		"inferred":  inferred,
		"explained": meta.Explanation != "",
		"traced":    meta.TraceID != "",
	}
}

func timeOf(text any) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text.(string))
	if err != nil {
		panic(err)
	}
	return at
}

func optionsOf(of request) (SvcQueryOptions, error) {
	options := SvcQueryOptions{
		Tags:           of.Options.Tags,
		Context:        of.Options.QueryContext,
		QueryName:      of.Options.QueryName,
		QueryVersion:   of.Options.QueryVersion,
		PlannerOptions: of.Options.PlannerOptions,
		Explain:        of.Options.Explain,
		Trace:          of.Options.Trace,
		Staleness:      map[Output]time.Duration{},
	}
	for name, age := range of.Options.Staleness {
		length, err := time.ParseDuration(age)
		if err != nil {
			return options, err
		}
		options.Staleness[Named(name)] = length
	}
	if now, one := of.Options.Now.(string); one {
		options.Now = timeOf(now)
	}
	return options, nil
}

func outputsOf(of request) (outputs []Output) {
	for _, name := range of.Outputs {
		outputs = append(outputs, featureOf(name).Interface().(Output))
	}
	return outputs
}

// rowQuery is a query for one row.
func rowQuery(of request) (SvcQuery, error) {
	options, err := optionsOf(of)
	query := SvcQuery{Outputs: outputsOf(of), IncludeMeta: of.Options.IncludeMeta, SvcQueryOptions: options}
	for _, given := range of.Inputs {
		query.Inputs = append(query.Inputs, input(given.name, given.value))
	}
	return query, err
}

func ask(client *SvcClient, of request) (object, error) {
	ctx := context.Background()
	if of.Call == "multi" {
		return askMulti(ctx, client, of.Queries)
	}
	options, err := optionsOf(of)
	if err != nil {
		return nil, err
	}
	var columns []Column
	if of.Call == "bulk" || of.Call == "upload" {
		for _, given := range of.Inputs {
			columns = append(columns, column(given.name, given.value.([]any)))
		}
	}
	if of.Call == "upload" {
		result, err := client.UploadFeatures(ctx, SvcUpload{Columns: columns, DryRun: of.DryRun})
		if err != nil {
			return nil, err
		}
		return object{"stored": []int{result.Rows, result.OnlineValues, result.OfflineValues}}, nil
	}
	var times []time.Time
	if now, each := of.Options.Now.([]any); each {
		for _, at := range now {
			times = append(times, timeOf(at))
		}
	}
	if of.Call == "bulk" {
		result, err := client.QueryBulk(ctx, SvcBulkQuery{Inputs: columns, Outputs: outputsOf(of), Times: times, SvcQueryOptions: options})
		if err != nil {
			return nil, err
		}
		var values []any
		for _, name := range result.Names() {
			got := featureOf(name).MethodByName("Column").Call([]reflect.Value{reflect.ValueOf(result)})
			if failure := got[1]; !failure.IsNil() {
				return nil, failure.Interface().(error)
			}
			values = append(values, printed(got[0]))
		}
		return outcomeOf("columns", result.Names(), values, result.Errors, result.Meta), nil
	}
	query, err := rowQuery(of)
	if err != nil {
		return nil, err
	}
	result, err := client.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return resultOf(result)
}

func askMulti(ctx context.Context, client *SvcClient, of []request) (object, error) {
	queries := make([]SvcQuery, len(of))
	for i, one := range of {
		query, err := rowQuery(one)
		if err != nil {
			return nil, err
		}
		queries[i] = query
	}
	said, err := client.QueryMulti(ctx, queries)
	if err != nil {
		return nil, err
	}
	outcomes := make([]object, len(said))
	for i, one := range said {
		if one.Err != nil {
			outcomes[i] = object{"refused": "query", "errors": errorsOf(one.Err.Errors)}
		} else if outcomes[i], err = resultOf(one.Result); err != nil {
			return nil, err
		}
	}
	return object{"outcomes": outcomes}, nil
}

func resultOf(result *SvcResult) (object, error) {
	var values []any
	hits := object{}
	for _, name := range result.Names() {
		got := featureOf(name).MethodByName("In").Call([]reflect.Value{reflect.ValueOf(result)})
		var detail SvcErrorDetail
		if failure, failed := got[1].Interface().(error); failed && !errors.As(failure, &detail) {
			return nil, failure
		}
		values = append(values, printed(got[0]))
		if origin := Named(name).Origin(result); origin != nil {
			hits[name] = origin.CacheHit
		}
	}
	outcome := outcomeOf("values", result.Names(), values, result.Errors, result.Meta)
	outcome["hits"] = hits
	return outcome, nil
}

func clientOf(of request) (*SvcClient, error) {
	options := SvcOptions{}
	if own := of.Client; own != nil {
		options = SvcOptions{
			Branch:       own.Branch,
			Environment:  own.Environment,
			DeploymentID: own.DeploymentID,
			ClientSecret: own.ClientSecret,
			APIServer:    own.APIServer,
			Timeout:      time.Duration(own.TimeoutMS) * time.Millisecond,
		}
		if own.APIServer != "" {
			// It is not there, and is asked for a minute.
			options.Timeout = time.Second
		}
	}
	return NewSvcClient(options)
}

func main() {
	collect(reflect.ValueOf(Features), 2)
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var table []request
	if err := json.Unmarshal(data, &table); err != nil {
		panic(err)
	}
	shared, err := NewSvcClient(SvcOptions{})
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, of := range table {
		client := shared
		if of.Client != nil {
			if client, err = clientOf(of); err != nil {
				panic(err)
			}
		}
		outcome, err := ask(client, of)
		var refused *SvcError
		switch {
		case err == nil:
		case errors.As(err, &refused) && refused.Code == CodeUnauthenticated:
			outcome = object{"refused": "authentication"}
		case errors.As(err, &refused) && refused.Code == CodeUnavailable && refused.Status == 0:
			outcome = object{"refused": "unreachable"}
		case errors.As(err, &refused) && len(refused.Errors) > 0:
			outcome = object{"refused": "query", "errors": errorsOf(refused.Errors)}
		default:
			outcome = object{"refused": err.Error()}
		}
		if err := out.Encode(outcome); err != nil {
			panic(err)
		}
	}
}
