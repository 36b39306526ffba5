// Answers on a bare socket, for what never became a request: broken HTTP, headers that are too large or too slow.
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";
import { errorAnswer, type ErrorReport } from "./error-page.ts";

/** Which error a failure of Node's HTTP parser is. */
export function refusalOf(failure: { readonly code?: string | undefined; readonly rawPacket?: Uint8Array | undefined }): ErrorCode {
  if (failure.code === "ERR_HTTP_REQUEST_TIMEOUT") return "REQUEST_TIMED_OUT";
  if (failure.code === "HPE_HEADER_OVERFLOW") return "HEADERS_TOO_LARGE";
  if (failure.code === "HPE_INVALID_METHOD" && startsWithMethod(failure.rawPacket)) return "METHOD_NOT_SUPPORTED";
  return "REQUEST_MALFORMED";
}

// RFC 9110 9.1: a method is a token; this one is well-formed, and unknown.
function startsWithMethod(packet: Uint8Array | undefined): boolean {
  if (packet === undefined) return false;
  const start = Buffer.from(packet.buffer, packet.byteOffset, Math.min(packet.byteLength, 64)).toString("latin1");
  return /^[A-Za-z!#$%&'*+.^_`|~-]{1,32} \S/.test(start);
}

export function refuseOnSocket(socket: Duplex, code: ErrorCode, known: Partial<Omit<ErrorReport, "code">> = {}): void {
  const { status, headers, body } = errorAnswer({ requestId: randomUUID(), detail: null, accept: "", ...known, code });
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\ndate: ${new Date().toUTCString()}\r\nconnection: close\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
  socket.resume(); // What still comes is dropped, so that the close does not become a reset.
  setTimeout(() => socket.destroy(), CLOSE_AFTER_MS).unref();
}

const CLOSE_AFTER_MS = 1_000;
