/** AuditService: rows of the audit log, its endpoints, its verification. */

import { create, type DescMethod } from "@bufbuild/protobuf";
import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect";
import {
  AuditService,
  ListAuditEndpointsResponseSchema,
  ListAuditLogsResponseSchema,
  VerifyAuditLogResponseSchema,
} from "../../../../gen/svc/v1/audit_pb.ts";
import { SERVICES } from "../../../contract/services.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { resolveNames } from "../../access/scope.ts";
import { hex } from "../../audit/audit-log.ts";
import { auditedFields, endpointName, isAudited } from "../../audit/audited.ts";
import { Failure } from "../../failure.ts";
import type { AuditRecord } from "../../stores/metadata/audit.ts";
import { AUDITED_ENDPOINTS } from "../http/audited-endpoints.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { loadService } from "./mount.ts";
import { pageToken, readPageToken } from "./page-token.ts";

const DEFAULT_PAGE = 50;
const MAX_PAGE = 500;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { audit, environments, keys, metadata } = platform;
  router.service(AuditService, {
    async listAuditLogs({ client, endpoint, code, environment, address, since, until, pageSize, pageToken: token }, context) {
      const caller = callerOf(context);
      const scope = environment && (await resolveNames(environments, caller, { environment, project: "", branch: "", deployment: "" }));
      const filter = {
        teamId: caller.teamId,
        client: client || undefined,
        endpoint: endpoint || undefined,
        code: code || undefined,
        environmentId: scope ? scope.environment.id : undefined,
        address: address || undefined,
      };
      const times = { since: since && timestampToMs(since), until: until && timestampToMs(until) };
      const filterText = JSON.stringify(["audit", filter]);
      const limit = Math.min(pageSize > 0 ? pageSize : DEFAULT_PAGE, MAX_PAGE);
      const before = token === "" ? undefined : Number(readPageToken(keys.objects, filterText, token));
      const found = await metadata.audit.list({ ...filter, ...times, before, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return create(ListAuditLogsResponseSchema, {
        logs: page.map(rowMessage),
        nextPageToken: found.length > limit && last ? pageToken(keys.objects, filterText, String(last.seq)) : "",
      });
    },

    async listAuditEndpoints() {
      const methods = await allMethods(platform);
      const called = methods.filter(isAudited).map((method) => ({
        endpoint: endpointName(method),
        requestType: method.input.typeName,
        responseType: method.output.typeName,
        auditedFields: auditedFields(method),
      }));
      const plain = AUDITED_ENDPOINTS.map(({ name, fields }) => ({ endpoint: name, auditedFields: [...fields] }));
      return create(ListAuditEndpointsResponseSchema, {
        endpoints: [...called, ...plain].sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1)),
      });
    },

    async verifyAuditLog({ notedHash }) {
      if (notedHash !== "" && !/^[0-9a-f]{64}$/.test(notedHash))
        throw new Failure("invalid_argument", "A hash of the audit log has 64 lower-case hex digits.");
      const { rows, head, anchor, broken, hasNoted } = await audit.verify(notedHash);
      return create(VerifyAuditLogResponseSchema, {
        rows: BigInt(rows),
        headSeq: BigInt(head.seq),
        headHash: hex(head.hash),
        brokenSeq: BigInt(broken?.seq ?? 0),
        brokenReason: broken?.reason ?? "",
        prunedSeq: BigInt(anchor.seq),
        hasNotedHash: hasNoted,
      });
    },
  });
}

function rowMessage({ at, hash, about, seq, teamId: _, ...row }: AuditRecord) {
  return { ...row, seq: BigInt(seq), time: msToTimestamp(at), about: readAbout(about), hash: hex(hash) };
}

/** What a row was about, as texts by field; empty when somebody made it unreadable. */
function readAbout(about: string): Record<string, string> {
  try {
    const fields = JSON.parse(about) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
    );
  } catch {
    return {};
  }
}

/** The methods of all services. */
async function allMethods(platform: Platform): Promise<DescMethod[]> {
  const router = createConnectRouter();
  for (const service of Object.values(SERVICES)) (await loadService(service)).register(router, platform);
  return router.handlers.map(({ method }) => method);
}
