// Shows the token of a new platform's management API.
import { tokenFile } from "../api/access.ts";
import type { Output } from "../log.ts";

/** Once, where a platform is new. */
export function showToken({ home, token }: { readonly home: string; readonly token: string }, output: Output): void {
  const file = tokenFile(home);
  const lines = [
    "  The token of this platform's management API, shown this once:",
    `  ${token}`,
    `  Commands on this machine find it in ${file}.`,
    "",
  ];
  output.facts("token", lines, { token, file });
}

/** The same where what is printed is kept: a log is no place for a token. */
export function tellOfToken(home: string, output: Output): void {
  const file = tokenFile(home);
  output.facts("token", [`  The token of this platform's management API is in ${file}; commands on this machine find it there.`, ""], {
    file,
  });
}
