// Writes what a gateway has to say: one JSON line each, errors on stderr, the rest on stdout.

export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export function createLog(base: Readonly<Record<string, unknown>>): Log {
  const line = (level: string, message: string, fields: Readonly<Record<string, unknown>>): string =>
    `${JSON.stringify({ time: new Date().toISOString(), level, message, ...base, ...fields }, (_key, value: unknown) => (value instanceof Error ? describe(value) : value))}\n`;
  // A full disk or a closed pipe: there is nowhere left to say it, and saying that it cannot be said would go round for ever.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  return {
    info: (message, fields = {}) => void process.stdout.write(line("info", message, fields)),
    error: (message, fields = {}) => void process.stderr.write(line("error", message, fields)),
  };
}

const describe = (error: Error): string => error.stack ?? error.message;
