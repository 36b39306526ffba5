// Rules about what stands beside the code: the page of errors, the page of the contract, the lock file. Each returns its problems.

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

/** Every row of a table on the page of the contract names tests that are there, or says why there is none. */
export function unprovenRules(page: string, textOf: (testFile: string) => string | null): string[] {
  return page.split("\n").flatMap((line, index) => {
    if (!line.startsWith("| ") || /^\| (?:rule|-)/.test(line)) return [];
    const where = `line ${index + 1}`;
    const proofs = [...line.matchAll(/`([\w/.-]+\.test\.ts) › ([^`]+)`/g)];
    if (proofs.length === 0) return line.includes("no test:") ? [] : [`${where} names no test: ${line.slice(0, 80)}`];
    return proofs.flatMap(([, file = "", name = ""]) => {
      const text = textOf(file);
      if (text === null) return [`${where}: ${file} is not there`];
      const isThere = ['"', "'", "`"].some((quote) => text.includes(`${quote}${name}${quote}`));
      return isThere ? [] : [`${where}: ${file} has no test called "${name}"`];
    });
  });
}
