// What is written for git and shown of it: requests, paths and people of commits, records of trees, lines for a terminal, configuration.
import { describe, expect, it } from "vitest";
import { recordOf } from "../../../orchestrator/git/check-out.ts";
import { commitFacts, plainLine, shown } from "../../../orchestrator/git/commit-facts.ts";
import { commitHead, parseAnswer, quotedPath } from "../../../orchestrator/git/commit-stream.ts";
import { linesOfError } from "../../../orchestrator/git/exchange.ts";
import { gitConfig } from "../../../orchestrator/git/git-config.ts";
import { type GitCallFacts, gitRequest, namesService } from "../../../orchestrator/git/git-request.ts";
import { linesOf } from "../../../orchestrator/git/judge-push.ts";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";

const ID = "1".repeat(40);
const call = (facts: Partial<GitCallFacts>): GitCallFacts => ({
  method: "GET",
  rest: "/info/refs",
  query: new URLSearchParams("service=git-upload-pack"),
  headers: {},
  mayPush: true,
  ...facts,
});
const post = (service: string, headers: Readonly<Record<string, string>> = {}): GitCallFacts =>
  call({
    method: "POST",
    rest: `/${service}`,
    query: new URLSearchParams(),
    headers: { "content-type": `application/x-${service}-request`, ...headers },
  });

describe("a request", () => {
  it("is one of git's calls", () => {
    expect(gitRequest(call({}))).toEqual({ kind: "refs", service: "git-upload-pack", protocol: null });
    expect(gitRequest(call({ query: new URLSearchParams("service=git-receive-pack") }))).toEqual({
      kind: "refs",
      service: "git-receive-pack",
      protocol: null,
    });
    expect(gitRequest(post("git-upload-pack"))).toEqual({ kind: "fetch", protocol: null, isZipped: false });
    expect(gitRequest(post("git-receive-pack", { "content-encoding": "GZip" }))).toEqual({ kind: "push", isZipped: true });
  });

  it("may ask for a newer protocol to read, and cannot put anything else into git's environment", () => {
    const protocolOf = (header: string): unknown => gitRequest(post("git-upload-pack", { "git-protocol": header }));
    expect(protocolOf("version=2")).toMatchObject({ protocol: "version=2" });
    expect(protocolOf("version=1:other")).toMatchObject({ protocol: "version=1" });
    expect(protocolOf("version=9:x=y")).toMatchObject({ protocol: null });
    expect(gitRequest(post("git-receive-pack", { "git-protocol": "version=2" }))).not.toHaveProperty("protocol");
    expect([
      namesService("git-upload-pack", "version=2"),
      namesService("git-upload-pack", null),
      namesService("git-receive-pack", "version=2"),
    ]).toEqual([false, true, true]);
  });

  it.each([
    ["another path", { rest: "/HEAD" }, 404],
    ["no path", { rest: "" }, 404],
    ["a path that goes on", { rest: "/info/refs/" }, 404],
    ["a way out", { rest: "/../info/refs" }, 404],
    ["the service as a query of another path", { rest: "/x" }, 404],
    ["no service", { query: new URLSearchParams() }, 404],
    ["another service", { query: new URLSearchParams("service=git-shell") }, 404],
    ["refs by POST", { method: "POST" }, 405],
    ["refs by HEAD", { method: "HEAD" }, 405],
    ["a push that is not allowed", { query: new URLSearchParams("service=git-receive-pack"), mayPush: false }, 403],
  ])("is refused that is %s", (_what, facts, status) => {
    expect(gitRequest(call(facts))).toMatchObject({ kind: "refused", status });
  });

  it("is refused of another type or in an unknown compression", () => {
    expect(gitRequest({ ...post("git-receive-pack"), headers: {} })).toMatchObject({ status: 415 });
    expect(gitRequest(post("git-receive-pack", { "content-type": "application/x-git-upload-pack-request" }))).toMatchObject({
      status: 415,
    });
    expect(gitRequest(post("git-upload-pack", { "content-encoding": "deflate" }))).toMatchObject({ status: 415 });
    expect(gitRequest({ ...post("git-receive-pack"), mayPush: false })).toMatchObject({ status: 403 });
  });
});

describe("what is shown of a commit", () => {
  it("is what git says of it", () => {
    expect(commitFacts(`${ID}\u00001700000000\0Ada\0adds a route`)).toEqual({
      commit: ID,
      subject: "adds a route",
      author: "Ada",
      epochMs: 1_700_000_000_000,
    });
  });

  it("is plain text of bounded length, also where the rest was cut off", () => {
    const facts = commitFacts(`${ID}\u00001\0${"\u001b[1m".repeat(1_000)}A\u0007da\0${"x".repeat(1_000)}`);
    expect(facts.subject).toBe(`${"x".repeat(199)}…`);
    expect(facts.author.includes("\u001b")).toBe(false);
    expect(commitFacts(ID)).toEqual({ commit: ID, subject: "", author: "", epochMs: 0 });
    expect(commitFacts(`${ID}\u000099999999999999999999\0a\0b`).epochMs).toBe(0);
  });

  it("keeps letters of all scripts, and cuts between them", () => {
    expect(shown("日本語 ä 😀😀", 100)).toBe("日本語 ä 😀😀");
    expect(shown("😀😀😀😀", 3)).toBe("😀😀…");
    expect(shown("a\u2028b\u202ec\u0085d\ue000", 20)).toBe("a b c d\ue000");
  });
});

describe("what is printed to a terminal", () => {
  it("comes line by line, without what would act on it", () => {
    expect(linesOf("a\r\nb\rc\n\u001b[31md\u001b[0m\te")).toEqual(["a", "b", "c", "d  e"]);
    expect(plainLine("\u001b]8;;http://x\u0007link\u001b]8;;\u0007")).toBe("link");
    expect(linesOf("x".repeat(10_000))[0]).toHaveLength(4_000);
  });

  it("of an error is what is meant for people", () => {
    const error = new PlatformError("PUSH_REFUSED", { detail: "why.", problems: ["a", "b"], remedy: "Do." });
    expect(linesOfError(error)).toEqual(["PUSH_REFUSED: The push cannot be taken. why.", "  - a", "  - b", "Do."]);
    expect(linesOfError(new Error("secret"))).toEqual(["INTERNAL: Something went wrong inside the platform."]);
  });
});

describe("what is written for git", () => {
  it("quotes every path", () => {
    expect(quotedPath('a "b"\\c\nd/ä')).toBe('"a \\"b\\"\\\\c\\nd/ä"');
  });

  it("names a person who cannot break out of the line", () => {
    const head = commitHead({
      folder: "/x",
      parent: ID,
      ref: "refs/x",
      by: "Eve> 0 +0000\ncommitter <x",
      message: "über\n",
      epochMs: 1_700_000_000_999,
    });
    expect(head).toBe(
      [
        "commit refs/x",
        "mark :1",
        "author Eve 0 +0000 committer x <orchestrator@localhost> 1700000000 +0000",
        "committer Eve 0 +0000 committer x <orchestrator@localhost> 1700000000 +0000",
        "data 6",
        "über\n",
        `from ${ID}`,
        "deleteall\n",
      ].join("\n"),
    );
    expect(commitHead({ folder: "/x", parent: null, ref: "refs/x", by: "a", message: "", epochMs: 0 })).not.toContain("from");
  });

  it("believes an answer only as a whole", () => {
    expect(parseAnswer(`${ID}\n040000 tree ${"2".repeat(40)}\t\n`)).toEqual({ commit: ID, tree: "2".repeat(40) });
    expect(parseAnswer(`${ID}\n`)).toBeNull();
  });

  it("keeps a folder's odd name inside of its quotes", () => {
    expect(gitConfig('/a "b" # c;\\d\ne')).toContain('hooksPath = "/a \\"b\\" # c;\\\\d\\ne"\n');
  });
});

describe("a record of a tree", () => {
  const record = (text: string | Uint8Array) => recordOf(Buffer.from(text));
  it("is a file, an executable, or a link", () => {
    expect(record(`100755 blob ${ID}\ta b\tc`)).toEqual({ mode: "100755", id: ID, path: "a b\tc" });
  });

  it("is refused by name as a submodule, or where its name is no UTF-8", () => {
    expect(() => record(`160000 commit ${ID}\tvendor/lib`)).toThrow(/"vendor\/lib" is a submodule/);
    expect(() => record(Buffer.concat([Buffer.from(`100644 blob ${ID}\ta`), Buffer.from([0xff])]))).toThrow(/no valid UTF-8/);
  });
});
