// What an app and its domains may be called, and on which hosts it answers. Pure.
import { APP_NAME_LENGTH_MAX } from "../../runtime-image/contract/limits.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";

/** As the end of a sentence; null where the name is fine. */
export function nameProblem(name: string): string | null {
  if (name.length > APP_NAME_LENGTH_MAX) return `is longer than ${APP_NAME_LENGTH_MAX} characters`;
  if (!/^[a-z](?:[a-z0-9-]*[a-z0-9])?$/.test(name))
    return "should begin with a small letter and hold small letters, digits and dashes, none at its end";
  return name.endsWith(STAGING_SUFFIX) ? `should not end in "${STAGING_SUFFIX}": that is the host of another app's staging` : null;
}

const STAGING_SUFFIX = "-staging";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const DOMAIN = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})+$`);

/** As the end of a sentence; null where the domain is fine. */
export function domainProblem(domain: string): string | null {
  if (!DOMAIN.test(domain)) return "should be a host name in small letters, without a port, such as shop.example.org";
  if (/^[\d.]+$/.test(domain)) return "should be a name, not an address";
  return domain === "localhost" || domain.endsWith(".localhost")
    ? "should not end in .localhost: every app has such a host by its name"
    : null;
}

/** Both gateways know the app by its plain name; staging also by one that tells the two apart. */
export function hostsOf(name: string, environment: Environment, domains: readonly string[]): readonly string[] {
  const own = environment === "production" ? [`${name}.localhost`] : [`${name}${STAGING_SUFFIX}.localhost`, `${name}.localhost`];
  return [...own, ...domains];
}
