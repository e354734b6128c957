/**
 * gRPC's reflection service (grpc.reflection.v1, and v1alpha, whose messages are the same bytes),
 * which tools such as grpcurl ask for the schema before they call. Anyone may ask: it tells the
 * contract, which is published with every release, and nothing of what is stored or deployed; and
 * tools ask before they have been given a token for the call itself.
 */

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { endStreamFlag } from "@connectrpc/connect/protocol-connect";
import {
  ServerReflectionResponseSchema as ResponseSchema,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponseSchema,
} from "../../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { SHORT_BODY_BYTES } from "../http/body.ts";
import { checkMessage } from "../http/message-check.ts";
import { errorAnswer } from "../http/respond.ts";
import type { CallMethod } from "../services/mount.ts";
import { descriptors } from "./baked-descriptors.ts";
import { enveloped, envelopes } from "./envelopes.ts";

/** Most questions of one call, and calls at one time: nobody knows who asks. */
const MOST_QUESTIONS = 10_000;
const MOST_ASKING = 256;

const STREAM = "application/connect+proto";

/** Makes the method `ServerReflectionInfo`, whose answers come one by one as the questions do. */
export function createReflectionMethod(): CallMethod {
  let asking = 0;
  return {
    authorize: () => Promise.resolve(undefined),
    receive: () => Promise.resolve(new Uint8Array(0)),
    async handle(request) {
      if (request.headers.get("content-type") !== STREAM)
        return errorAnswer({ status: 415, code: "unimplemented", message: "Reflection is a stream of messages in protobuf." });
      if (asking >= MOST_ASKING)
        return errorAnswer({ status: 429, message: `${MOST_ASKING} callers ask already, which is the most. Ask again in a moment.` });
      asking++;
      return new Response(
        answers(request.body ?? new Blob([]).stream(), () => asking--),
        { headers: { "content-type": STREAM } },
      );
    },
    refuse: () => Promise.resolve(errorAnswer({ status: 400, message: "The call was refused." })),
  };
}

function answers(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const questions = envelopes(body, SHORT_BODY_BYTES);
  let asked = 0;
  let isOver = false;
  const over = (): void => {
    if (!isOver) ended();
    isOver = true;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const finish = (error?: { code: string; message: string }): void => {
        over();
        controller.enqueue(enveloped(endStreamFlag, Buffer.from(JSON.stringify({ error }))));
        controller.close();
      };
      try {
        const next = await questions.next();
        if (next.done) return finish();
        if (++asked > MOST_QUESTIONS)
          return finish({ code: "resource_exhausted", message: `A call has ${MOST_QUESTIONS} questions at most.` });
        const { flags, message } = next.value;
        if (flags !== 0) return finish({ code: "unimplemented", message: "Questions are not compressed." });
        checkMessage(ServerReflectionRequestSchema, message);
        const answer = answerTo(fromBinary(ServerReflectionRequestSchema, message, { readUnknownFields: false }));
        controller.enqueue(enveloped(0, toBinary(ResponseSchema, create(ResponseSchema, answer))));
      } catch (error) {
        finish({ code: "invalid_argument", message: errorText(error) });
      }
    },
    async cancel() {
      over();
      await questions.return(undefined);
    },
  });
}

type Answer = MessageInitShape<typeof ServerReflectionResponseSchema>;

/** The answer to a question. */
export function answerTo(question: ServerReflectionRequest): Answer {
  return { validHost: question.host, originalRequest: question, messageResponse: contentFor(question.messageRequest) };
}

function contentFor(asked: ServerReflectionRequest["messageRequest"]): Answer["messageResponse"] {
  const { extensions, services, symbols } = descriptors;
  switch (asked.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: services.map((name) => ({ name })) } };
    case "fileByFilename":
      return filesOf(asked.value, "file", asked.value);
    case "fileContainingSymbol":
      return filesOf(own(symbols, asked.value), "symbol", asked.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = asked.value;
      return filesOf(own(own(extensions, containingType) ?? {}, extensionNumber), "extension", `${containingType} ${extensionNumber}`);
    }
    case "allExtensionNumbersOfType": {
      const numbers = Object.keys(own(extensions, asked.value) ?? {}).map(Number);
      if (!(asked.value in symbols) && numbers.length === 0) return notFound("type", asked.value);
      return { case: "allExtensionNumbersResponse", value: { baseTypeName: asked.value, extensionNumber: numbers } };
    }
    default:
      return {
        case: "errorResponse",
        value: { errorCode: Code.InvalidArgument, errorMessage: "The message asks nothing that is known here." },
      };
  }
}

/** A file and all that it needs, so that one answer is enough. */
function filesOf(name: string | undefined, what: string, asked: string): Answer["messageResponse"] {
  const { files, imports } = descriptors;
  if (name === undefined || !Object.hasOwn(files, name)) return notFound(what, asked);
  const needed = new Set([name]);
  for (const one of needed) for (const imported of imports[one] ?? []) needed.add(imported);
  const fileDescriptorProto = [...needed].map((one) => Buffer.from(files[one] ?? "", "base64"));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function own<T>(things: Readonly<Record<string | number, T>>, name: string | number): T | undefined {
  return Object.hasOwn(things, name) ? things[name] : undefined;
}

function notFound(what: string, name: string): Answer["messageResponse"] {
  return { case: "errorResponse", value: { errorCode: Code.NotFound, errorMessage: `There is no ${what} ${name.slice(0, 200)}.` } };
}
