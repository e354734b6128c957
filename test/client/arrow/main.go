// A table of arrow-go, asked with the client of `svc codegen go`: prints what arrow.test.ts expects.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	. "example.com/arrow/features"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// ask gives the columns of the answer by name, and what its schema says.
func ask(client *SvcClient, ids []int64, query SvcBulkQuery) (map[string]arrow.Array, SvcArrowFacts, error) {
	metadata := arrow.MetadataFrom(map[string]string{SvcArrowQuery: must(client.ArrowQuery(query))})
	schema := arrow.NewSchema([]arrow.Field{{Name: Features.User.ID.Name(), Type: arrow.PrimitiveTypes.Int64}}, &metadata)
	users := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	users.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	var stream bytes.Buffer
	writer := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := errors.Join(writer.Write(users.NewRecord()), writer.Close()); err != nil {
		return nil, SvcArrowFacts{}, err
	}
	table, err := client.QueryBulkArrow(context.Background(), stream.Bytes())
	if err != nil {
		return nil, SvcArrowFacts{}, err
	}
	reader := must(ipc.NewReader(bytes.NewReader(table)))
	facts := must(SvcArrowFactsOf(reader.Schema().Metadata().ToMap()))
	columns := map[string]arrow.Array{}
	for reader.Next() {
		for i, field := range reader.Schema().Fields() {
			columns[field.Name] = reader.Record().Column(i)
			columns[field.Name].Retain()
		}
	}
	return columns, facts, reader.Err()
}

func main() {
	client := must(NewSvcClient(SvcOptions{}))
	user := Features.User
	few, facts, err := ask(client, []int64{13, 1<<53 + 1}, SvcBulkQuery{
		Outputs:         []Output{user.ID, user.Name, user.Fragile, user.AskedAt},
		SvcQueryOptions: SvcQueryOptions{Now: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)},
	})
	must(few, err)
	ids := make([]int64, 5000)
	for i := range ids {
		ids[i] = int64(i)
	}
	many, _, err := ask(client, ids, SvcBulkQuery{Outputs: []Output{user.Score}})
	sum := 0.0
	for _, score := range must(many, err)["user.score"].(*array.Float64).Float64Values() {
		sum += score
	}
	_, _, err = ask(client, []int64{1}, SvcBulkQuery{Outputs: []Output{Named("user.nam")}})
	var refused *SvcError
	errors.As(err, &refused)
	texts := func(name string) (values []any) {
		for i := range few[name].Len() {
			if few[name].IsNull(i) {
				values = append(values, nil)
			} else {
				values = append(values, few[name].ValueStr(i))
			}
		}
		return values
	}
	var failures []string
	for _, failure := range facts.Errors {
		failures = append(failures, fmt.Sprint(failure.Code, " ", *failure.Row))
	}
	fmt.Println(string(must(json.Marshal(map[string]any{
		"ids":     texts("user.id"),
		"names":   texts("user.name"),
		"fragile": texts("user.fragile"),
		"time":    strconv.FormatInt(int64(few["user.asked_at"].(*array.Timestamp).Value(0)), 10),
		"errors":  failures,
		"sum":     sum,
		"refused": refused.Errors[0].Message,
	}))))
}
