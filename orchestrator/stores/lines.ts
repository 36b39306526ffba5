// Cuts a stream of bytes into lines, and holds one line at a time.

export interface Line {
  readonly number: number; // From 1.
  readonly bytes: Buffer; // Without its end. Empty where isTooLong.
  readonly isTooLong: boolean;
}

const LINE_FEED = 10;

/** What follows the last line feed is a line too, unless it is empty. A line over the bound is passed over without being kept. */
export async function* linesOf(chunks: AsyncIterable<unknown>, lineBytesMax: number): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  let parts: Buffer[] = [];
  let partBytes = 0;
  const take = (): Line => {
    number += 1;
    const isTooLong = partBytes > lineBytesMax;
    const line = { number, bytes: isTooLong ? Buffer.alloc(0) : Buffer.concat(parts), isTooLong };
    parts = [];
    partBytes = 0;
    return line;
  };
  const keep = (part: Buffer): void => {
    partBytes += part.length;
    if (partBytes <= lineBytesMax) parts.push(part);
    else parts = [];
  };
  for await (const value of chunks) {
    const chunk = bufferOf(value);
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  }
  if (partBytes > 0) yield take();
}

function bufferOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Buffer.from(String(value), "utf8");
}
