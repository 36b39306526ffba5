// How npm is called to install a folder's packages, wherever it runs. Pure.

export interface NpmCall {
  readonly hasLock: boolean;
  readonly allowsScripts: boolean;
}

/** With everything that an app's own scripts may call. */
export const npmDevelopmentArguments = ({ hasLock, allowsScripts }: NpmCall): readonly string[] => [
  hasLock ? "ci" : "install",
  "--include=dev",
  ...(hasLock ? [] : ["--no-package-lock"]),
  ...(allowsScripts ? [] : ["--ignore-scripts"]),
  ...QUIET,
];

const QUIET = ["--no-audit", "--no-fund", "--no-update-notifier", "--no-progress"];

export const npmRunArguments = (script: string): readonly string[] => ["run", script, "--no-update-notifier"];

export function npmArguments({ hasLock, allowsScripts }: NpmCall): readonly string[] {
  return [
    hasLock ? "ci" : "install",
    "--omit=dev", // Development tools are not reached from a handler.
    ...(hasLock ? [] : ["--no-package-lock"]),
    ...(allowsScripts ? [] : ["--ignore-scripts", "--no-bin-links"]),
    ...QUIET,
    "--loglevel=http", // Says what it fetches, so that a log of one that hangs tells where.
  ];
}

/** What npm is to know, and nothing of the environment that it is called from. */
export const npmEnvironment = (places: {
  readonly home: string;
  readonly userConfig: string;
  readonly cache: string;
  readonly path: string;
  readonly extraCaCerts: string | null;
}): Readonly<Record<string, string>> => ({
  HOME: places.home,
  PATH: places.path,
  TMPDIR: places.home,
  npm_config_userconfig: places.userConfig,
  npm_config_globalconfig: `${places.userConfig}-global`, // There is none.
  npm_config_cache: places.cache,
  npm_config_logs_max: "0",
  npm_config_fetch_retry_mintimeout: "1000", // A registry that cannot be reached is said to be so within seconds, not minutes.
  npm_config_fetch_retry_maxtimeout: "5000",
  ...(places.extraCaCerts === null ? {} : { NODE_EXTRA_CA_CERTS: places.extraCaCerts }),
});

/** The same for an app's own scripts. Tools that would watch, ask or draw are told that nobody is there. */
export const builderEnvironment = (places: Parameters<typeof npmEnvironment>[0]): Readonly<Record<string, string>> => ({
  ...npmEnvironment(places),
  CI: "true",
});
