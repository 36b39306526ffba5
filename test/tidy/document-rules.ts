// Rules about what stands beside the code: the page of errors and the lock file. Each returns its problems.

interface ErrorFacts {
  readonly status: number;
  readonly fault: string;
  readonly retryable: boolean;
}

/** Every code has a heading and a first line that agrees with the table; every heading is a code. */
export function undocumentedErrors(table: Readonly<Record<string, ErrorFacts>>, page: string): string[] {
  const sections = new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")).trim(), section.slice(section.indexOf("\n") + 1)]),
  );
  const unknown = [...sections.keys()]
    .filter((code) => !Object.hasOwn(table, code))
    .map((code) => `${code} has a heading but is no error code`);
  const missing = Object.entries(table).flatMap(([code, facts]) => {
    const section = sections.get(code);
    if (section === undefined) return [`${code} has no heading`];
    const opening = `${facts.status} · ${facts.fault} · ${facts.retryable ? "retry" : "no retry"}`;
    if (!section.startsWith(`${opening}.`) && !section.startsWith(`${opening},`)) return [`${code} should begin with "${opening}."`];
    return section.length < 120 ? [`${code} says too little`] : [];
  });
  return [...unknown, ...missing];
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
}

/** npm ci refuses a lock file that leaves out a package of another platform, and installs without it where it is needed. */
export function packagesMissingInLock(lock: LockFile): string[] {
  return Object.entries(lock.packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).flatMap((name) => {
      const places = [`${path}/node_modules/${name}`, `node_modules/${name}`];
      return places.some((place) => Object.hasOwn(lock.packages, place))
        ? []
        : [`${path} may need ${name}, which package-lock.json leaves out`];
    }),
  );
}
