// Cuts the bytes of a log file into lines, whatever the boundaries they are read at. Pure.
import { LOG_LINE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { decodePrintedLine } from "../../runtime-image/contract/log-line.ts";
import type { LogLine } from "./engine.ts";

export interface LineCutter {
  /** Takes the next bytes; lines without a time of their own get this one. */
  push(bytes: Uint8Array, epochMs: number): LogLine[];
  /** What stands behind the last line break, once no more bytes come. */
  rest(epochMs: number): LogLine[];
}

const LINE_BREAK = 0x0a;
const CUT_MARK = " … (cut)";

export function createLineCutter(stream: LogLine["stream"]): LineCutter {
  let pending = Buffer.alloc(0);
  let isSkipping = false; // Behind the place where a line without end was cut, up to its line break.

  return {
    push(bytes, epochMs) {
      const lines: LogLine[] = [];
      let buffer = Buffer.concat([pending, bytes]);
      for (let end = buffer.indexOf(LINE_BREAK); end !== -1; end = buffer.indexOf(LINE_BREAK)) {
        if (!isSkipping) lines.push(toLine(stream, buffer.subarray(0, end), epochMs));
        isSkipping = false;
        buffer = buffer.subarray(end + 1);
      }
      if (!isSkipping && buffer.length > LOG_LINE_BYTES_MAX) {
        lines.push(toLine(stream, buffer, epochMs));
        isSkipping = true;
      }
      pending = isSkipping ? Buffer.alloc(0) : buffer;
      return lines;
    },
    rest: (epochMs) => (pending.length > 0 ? [toLine(stream, pending, epochMs)] : []),
  };
}

function toLine(stream: LogLine["stream"], bytes: Buffer, epochMs: number): LogLine {
  if (bytes.length > LOG_LINE_BYTES_MAX) return { stream, text: bytes.toString("utf8", 0, LOG_LINE_BYTES_MAX) + CUT_MARK, epochMs };
  const text = bytes.toString("utf8");
  return { stream, text, epochMs: decodePrintedLine(text)?.epochMs ?? epochMs };
}
