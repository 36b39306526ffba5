// What commands say of the platform's apps: where they answer, and how they are pushed to. Pure.
import type { App, MadeApp } from "./answers.ts";
import { plainText } from "./plain-text.ts";
import { tableLines } from "./table.ts";

const NONE = "-";

export function appLines(apps: readonly App[]): string[] {
  if (apps.length === 0) return ["no apps; make one with: orchestrator app create <name>"];
  return tableLines(
    ["app", "from", "staging runs", "production runs", "staging hosts", "production hosts"],
    apps.map(({ name, isDefault, source, live, hosts }) => [
      `${plainText(name)}${isDefault ? " (default)" : ""}`,
      source,
      plainText(live.staging ?? NONE),
      plainText(live.production ?? NONE),
      hostsText(hosts.staging),
      hostsText(hosts.production),
    ]),
  );
}

const hostsText = (hosts: readonly string[]): string => (hosts.length === 0 ? NONE : hosts.map(plainText).join(", "));

export const hostLines = ({ hosts }: Pick<App, "hosts">): string[] => [
  `  staging     ${hostsText(hosts.staging)}`,
  `  production  ${hostsText(hosts.production)}`,
];

/** The token itself is not shown: who reads over a shoulder, or a log, must not get it. */
export function madeAppLines(app: MadeApp, tokenFile: string): string[] {
  const name = plainText(app.name);
  return [
    `the app "${name}" is there; it answers on these hosts once something is deployed`,
    ...hostLines(app),
    "",
    "Deploy a folder:",
    `  orchestrator deploy --app ${name}`,
    ...(app.gitUrl === null ? [] : pushLines(plainText(app.gitUrl), tokenFile)),
  ];
}

const pushLines = (url: string, tokenFile: string): string[] => [
  "",
  "Or push to it, from the app's own repository:",
  `  git remote add orchestrator ${withToken(url)}`,
  "  git push orchestrator main",
  `with a token in place of <token>: that of the platform's owner lies in ${plainText(tokenFile)},`,
  "others are made with: orchestrator token create <name> --role deploy",
  "",
  "Or leave the token out of the URL, and let git read it where it lies:",
  `  git remote add orchestrator ${url}`,
  `  git config ${shellQuoted(`credential.${originOf(url)}.helper`)} ${shellQuoted(helperOf(tokenFile))}`,
];

const withToken = (url: string): string => url.replace("://", "://x:<token>@");

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

/** Git runs it in a shell, with the kind of question behind it. */
const helperOf = (tokenFile: string): string => `!f() { echo username=x; echo "password=$(cat ${shellQuoted(tokenFile)})"; }; f`;

export const shellQuoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);
