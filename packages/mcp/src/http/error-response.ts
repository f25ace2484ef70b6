const JSON_HEADERS = { "Content-Type": "application/json" };

/** A JSON-RPC error that belongs to no request. */
export function errorResponse(
  status: number,
  code: number,
  message: string,
  headers?: Record<string, string>,
): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
  return new Response(body, { status, headers: { ...JSON_HEADERS, ...headers } });
}
