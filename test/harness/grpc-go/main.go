// Calls by grpc-go, whose messages are made of the descriptors that the server's reflection gives:
// `grpc-go ADDRESS TOKEN [CERTIFICATE]` prints what each came to, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// outcome is what a call came to.
type outcome struct {
	Answer  json.RawMessage   `json:"answer,omitempty"`
	Code    string            `json:"code,omitempty"`
	Message string            `json:"message,omitempty"`
	Details []json.RawMessage `json:"details,omitempty"`
	Count   int               `json:"count,omitempty"`
}

type client struct {
	connection *grpc.ClientConn
	files      *protoregistry.Files
	types      *dynamicpb.Types
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// services are the names that reflection lists, and the files of all of them.
func (c *client) reflect(ctx context.Context) []string {
	stream := must(reflection.NewServerReflectionClient(c.connection).ServerReflectionInfo(ctx))
	ask := func(request *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		if err := stream.Send(request); err != nil {
			panic(err)
		}
		return must(stream.Recv())
	}
	listed := ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse()
	known := map[string]*descriptorpb.FileDescriptorProto{}
	var names []string
	for _, service := range listed.GetService() {
		names = append(names, service.GetName())
		answer := ask(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service.GetName()},
		})
		for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(data, file); err != nil {
				panic(err)
			}
			known[file.GetName()] = file
		}
	}
	// Files of imports that no answer had are asked for by their names.
	set := &descriptorpb.FileDescriptorSet{}
	for missing := true; missing; {
		missing = false
		for _, file := range known {
			for _, name := range file.GetDependency() {
				if known[name] != nil {
					continue
				}
				answer := ask(&reflection.ServerReflectionRequest{
					MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: name},
				})
				for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
					imported := &descriptorpb.FileDescriptorProto{}
					if err := proto.Unmarshal(data, imported); err != nil {
						panic(err)
					}
					known[imported.GetName()] = imported
				}
				missing = true
			}
		}
	}
	for _, file := range known {
		set.File = append(set.File, file)
	}
	c.files = must(protodesc.NewFiles(set))
	c.types = dynamicpb.NewTypes(c.files)
	if err := stream.CloseSend(); err != nil {
		panic(err)
	}
	return names
}

func (c *client) method(service, name string) protoreflect.MethodDescriptor {
	found := must(c.files.FindDescriptorByName(protoreflect.FullName(service)))
	return found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
}

func (c *client) message(of protoreflect.MessageDescriptor, text string) *dynamicpb.Message {
	message := dynamicpb.NewMessage(of)
	if err := (protojson.UnmarshalOptions{Resolver: c.types}).Unmarshal([]byte(text), message); err != nil {
		panic(err)
	}
	return message
}

func (c *client) written(message proto.Message) json.RawMessage {
	return must(protojson.MarshalOptions{Resolver: c.types}.Marshal(message))
}

func (c *client) failed(err error) outcome {
	said := status.Convert(err)
	failure := outcome{Code: said.Code().String(), Message: said.Message()}
	for _, detail := range said.Proto().GetDetails() {
		failure.Details = append(failure.Details, c.written(detail))
	}
	return failure
}

func (c *client) unary(ctx context.Context, service, name, request string, options ...grpc.CallOption) outcome {
	method := c.method(service, name)
	answer := dynamicpb.NewMessage(method.Output())
	path := fmt.Sprintf("/%s/%s", service, name)
	if err := c.connection.Invoke(ctx, path, c.message(method.Input(), request), answer, options...); err != nil {
		return c.failed(err)
	}
	return outcome{Answer: c.written(answer)}
}

// stream reads messages until there are `most`, or the call ends.
func (c *client) stream(ctx context.Context, service, name, request string, most int) outcome {
	method := c.method(service, name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := fmt.Sprintf("/%s/%s", service, name)
	stream, err := c.connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		return c.failed(err)
	}
	if err := stream.SendMsg(c.message(method.Input(), request)); err != nil {
		return c.failed(err)
	}
	if err := stream.CloseSend(); err != nil {
		panic(err)
	}
	for count := 0; ; count++ {
		if count == most {
			cancel()
		}
		if err := stream.RecvMsg(dynamicpb.NewMessage(method.Output())); err != nil {
			ended := c.failed(err)
			ended.Count = count
			return ended
		}
	}
}

func main() {
	address, token := os.Args[1], os.Args[2]
	secured := insecure.NewCredentials()
	if len(os.Args) > 3 {
		secured = must(credentials.NewClientTLSFromFile(os.Args[3], ""))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := &client{connection: must(grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(secured)))}
	defer c.connection.Close()
	known := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)

	services := c.reflect(ctx)
	serving := must(health.NewHealthClient(c.connection).Check(ctx, &health.HealthCheckRequest{}))
	watched := must(health.NewHealthClient(c.connection).Watch(ctx, &health.HealthCheckRequest{}))
	first := must(watched.Recv())

	const query = "svc.v1.QueryService"
	asked := `{"inputs":[{"feature":"user.id","text":"5"}],"outputs":["user.greeting"]}`
	all := make(chan outcome)
	for range 50 {
		go func() { all <- c.unary(known, query, "Query", asked) }()
	}
	atOnce := map[string]int{}
	for range 50 {
		one := <-all
		atOnce[one.Code]++
	}
	soon, stop := context.WithTimeout(known, 500*time.Millisecond)
	defer stop()
	late := c.stream(soon, "svc.v1.WatchService", "Watch", `{"topics":["WATCH_TOPIC_RUNS"]}`, -1)
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"services": services,
		"health":   serving.GetStatus().String(),
		"watched":  first.GetStatus().String(),
		"calls": map[string]outcome{
			"query":      c.unary(known, query, "Query", asked),
			"compressed": c.unary(known, query, "Query", asked, grpc.UseCompressor(gzip.Name)),
			"multi":      c.unary(known, query, "QueryMulti", `{"queries":[`+asked+`,{"outputs":["user.nmae"]}]}`),
			"wrong":      c.unary(known, query, "Query", `{"inputs":[{"feature":"user.id","text":"5"}],"outputs":["user.greetin"]}`),
			"nobody":     c.unary(ctx, query, "Query", asked),
			"stream":     c.stream(known, "svc.v1.WatchService", "Watch", `{"topics":["WATCH_TOPIC_RUNS"]}`, 1),
			"late":       late,
			"refused":    c.stream(known, "svc.v1.WatchService", "Watch", `{}`, -1),
		},
		"at_once": atOnce,
	}); err != nil {
		panic(err)
	}
}
