// One way of serving the app of the comparison.

export interface Row {
  readonly name: string;
  start(stack: AsyncDisposableStack, signal: AbortSignal): Promise<RunningRow>;
}

export interface RunningRow {
  readonly url: string;
  /** The processes whose descendants, they included, do the row's work. */
  rootPids(): Promise<readonly number[]>;
}
