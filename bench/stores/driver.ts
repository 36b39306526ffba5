// What every store of the comparison can do, as a program that uses it would.

export interface Driver {
  get(key: string): Promise<unknown>;
  /** Resolves when it is on the disk. */
  set(key: string, value: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): Promise<void>;
}
