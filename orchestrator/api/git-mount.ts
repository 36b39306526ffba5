// Lets git in beside the management API: /git/<app>.git, for callers who showed a token.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { GitDoor } from "../git/git-door.ts";
import { isGit } from "./access.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import { mayDo } from "./roles.ts";
import type { ApiApp } from "./server.ts";

const PLACE = /^\/git\/([^/?]{1,64})\.git(\/[^?]*)?(?:\?(.*))?$/;

export function withGit(app: ApiApp, git: GitDoor, appIdOf: (name: string) => string): ApiApp {
  return {
    answer(request, response, caller) {
      if (!isGit(request)) return app.answer(request, response, caller);
      try {
        const [, name, rest = "/", query = ""] = PLACE.exec(request.url ?? "") ?? [];
        if (name === undefined) throw new PlatformError("API_NOT_FOUND", { detail: "A repository is at /git/<app>.git." });
        const appId = appIdOf(name);
        git.answer(request, response, {
          appId,
          rest,
          query: new URLSearchParams(query),
          by: caller.tokenName,
          mayPush: mayDo(caller.role, "deploy"),
        });
      } catch (cause) {
        const { status, body } = problemOf(cause);
        response.writeHead(status, { "content-type": PROBLEM_TYPE, "cache-control": "no-store", connection: "close" });
        response.end(body);
      }
    },
    endStreams: () => app.endStreams(),
    async close() {
      await git.close();
      await app.close();
    },
  };
}
