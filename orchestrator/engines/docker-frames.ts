// Cuts Docker's stream of what a container prints into its frames.

export interface Frame {
  readonly stream: "stdout" | "stderr";
  readonly body: Buffer;
}

const HEADER_BYTES = 8; // [stream, 0, 0, 0, u32 length]
const BODY_BYTES_MAX = 1_048_576; // Docker cuts messages at 16 KB; a longer frame means that this is no such stream.
const STDERR = 2;

/** Takes the next bytes; the answer are the frames that are whole by now. */
export function createFrameCutter(): (chunk: Uint8Array) => Frame[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const frames: Frame[] = [];
    let start = 0;
    while (rest.length - start >= HEADER_BYTES) {
      const bodyBytes = rest.readUInt32BE(start + 4);
      if (bodyBytes > BODY_BYTES_MAX) throw new Error(`a log frame of ${bodyBytes} bytes`);
      const end = start + HEADER_BYTES + bodyBytes;
      if (end > rest.length) break;
      frames.push({ stream: rest[start] === STDERR ? "stderr" : "stdout", body: rest.subarray(start + HEADER_BYTES, end) });
      start = end;
    }
    rest = rest.subarray(start);
    return frames;
  };
}
