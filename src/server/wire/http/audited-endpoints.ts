/** The plain HTTP endpoints whose calls change something, and so have rows in the audit log. */

/** An audited endpoint of plain HTTP. */
export interface AuditedEndpoint {
  /** Its path in the router's table. */
  readonly path: string;
  readonly method: string;
  /** Its name in rows. */
  readonly name: string;
  /** What its rows tell. */
  readonly fields: readonly string[];
}

/** The audited endpoints. */
export const AUDITED_ENDPOINTS: readonly AuditedEndpoint[] = [
  { path: "/v1/oauth/token", method: "POST", name: "POST /v1/oauth/token", fields: ["client_id"] },
  { path: "/v1/oauth/authorize", method: "GET", name: "GET /v1/oauth/authorize", fields: ["login_session_id"] },
  { path: "/v1/features/upload", method: "POST", name: "POST /v1/features/upload", fields: ["columns"] },
  { path: "/v1/features/rows", method: "DELETE", name: "DELETE /v1/features/rows", fields: ["namespace", "features", "tags"] },
  { path: "/v1/features/columns", method: "DELETE", name: "DELETE /v1/features/columns", fields: ["namespace", "features"] },
  { path: "/v1/offline-queries", method: "POST", name: "POST /v1/offline-queries", fields: ["id"] },
  { path: "/v1/offline-queries/", method: "POST", name: "POST /v1/offline-queries/", fields: ["upload_id"] },
  { path: "/v1/runs", method: "POST", name: "POST /v1/runs", fields: ["id", "resolver", "deployment_id"] },
  { path: "/v1/objects/", method: "PUT", name: "PUT /v1/objects/", fields: ["object"] },
  { path: "/login/oidc/callback", method: "GET", name: "GET /login/oidc/callback", fields: ["role"] },
  { path: "/", method: "POST", name: "POST /cli/", fields: ["login_session_id", "decision"] },
];
