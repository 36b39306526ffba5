// Shares a number of bytes between those who want some, in the order in which they asked.

export interface ByteBudget {
  /** Calls back at once or later; the bytes are the caller's until it gives them back. */
  take(bytes: number, granted: () => void): void;
  give(bytes: number): void;
}

export function createByteBudget(bytesMax: number): ByteBudget {
  let free = bytesMax;
  const waiting: { readonly bytes: number; readonly granted: () => void }[] = [];
  const serve = (): void => {
    for (let next = waiting[0]; next !== undefined && next.bytes <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.bytes;
      next.granted();
    }
  };
  return {
    take(bytes, granted) {
      waiting.push({ bytes: Math.min(bytes, bytesMax), granted });
      serve();
    },
    give(bytes) {
      free = Math.min(bytesMax, free + bytes);
      serve();
    },
  };
}
