// Reads a stream of bytes in pieces whose length the reader decides: so many bytes, or up to a mark.

export interface ByteReader {
  /** Exactly so many. Throws where the stream ends before. */
  take(byteCount: number): Promise<Buffer>;
  /** At least one and at most so many; null at the end. */
  takeSome(byteCountMax: number): Promise<Buffer | null>;
  /** Without the mark; null where nothing is left. Throws beyond so many bytes, and where the stream ends before the mark. */
  takeUntil(mark: number, byteCountMax: number): Promise<Buffer | null>;
}

export function createByteReader(source: AsyncIterator<Uint8Array>): ByteReader {
  let pending: Buffer = Buffer.alloc(0);
  const readMore = async (): Promise<boolean> => {
    const next = await source.next();
    if (next.done === true) return false;
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    return true;
  };
  const cut = (byteCount: number): Buffer => {
    const taken = pending.subarray(0, byteCount);
    pending = pending.subarray(byteCount);
    return taken;
  };
  return {
    async take(byteCount) {
      while (pending.length < byteCount)
        if (!(await readMore())) throw new Error(`the stream ended ${byteCount - pending.length} bytes early`);
      return cut(byteCount);
    },
    async takeSome(byteCountMax) {
      while (pending.length === 0) if (!(await readMore())) return null;
      return cut(byteCountMax);
    },
    async takeUntil(mark, byteCountMax) {
      for (let from = 0; ;) {
        const end = pending.indexOf(mark, from);
        if (end > byteCountMax || (end < 0 && pending.length > byteCountMax))
          throw new Error(`more than ${byteCountMax} bytes without an end`);
        if (end >= 0) {
          const taken = cut(end);
          cut(1);
          return taken;
        }
        from = pending.length;
        if (await readMore()) continue;
        if (pending.length === 0) return null;
        throw new Error("the stream ended without an end mark");
      }
    },
  };
}
