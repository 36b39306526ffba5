// The pages of the examples in a real browser: what a person sees, clicks and is remembered by.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Browser, startBrowser } from "../support/browser.ts";
import { EXAMPLES } from "../support/example.ts";
import { type EngineName, type RunningPlatform, startPlatform } from "../support/platform.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
});

const running = (example: string, engine: EngineName): (() => RunningPlatform) => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform({ app: join(EXAMPLES, example), engine, flags: ["--no-watch"] });
  });
  afterAll(async () => {
    await platform.stop();
  });
  return () => platform;
};

const home = (platform: RunningPlatform): string => `http://localhost:${platform.ports.staging}/`;

// A page is the same on both engines, and examples.test.ts plays its requests on both: each example is looked at on one of them.
describe("the page of the GraphQL example", () => {
  const platform = running("graphql", "docker");

  it("asks {hello} when it is loaded, with both headers, and shows the JSON that it got", async () => {
    const page = await browser.open("about:blank");
    const asked = page.waitForRequest((request) => request.method() === "POST");
    await page.goto(home(platform()));
    const request = await asked;
    expect({ path: new URL(request.url()).pathname, body: request.postDataJSON() as unknown }).toEqual({
      path: "/graphql",
      body: { query: "{hello}" },
    });
    expect(await request.allHeaders()).toMatchObject({ "content-type": "application/json", "x-requested-with": "XMLHttpRequest" });
    await page.getByText('"hello": "Hello from a function!"').waitFor();
    expect(JSON.parse((await page.locator("#answer").textContent()) ?? "")).toEqual({ data: { hello: "Hello from a function!" } });
  });

  it("shows its own page for a path that nothing answers", async () => {
    const page = await browser.open(`${home(platform())}nowhere`);
    expect(await page.title()).toBe("Not found");
  });
});

describe("the page of the example with a session", () => {
  const platform = running("forms-and-session", "process");

  it("knows a visitor after logging in, also in another tab, and no longer after logging out", async () => {
    const page = await browser.open(home(platform()));
    await page.getByRole("textbox").fill("Ada");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Hello, Ada!").waitFor();

    const other = await browser.open(home(platform()));
    await other.getByRole("button", { name: "Log out" }).click();
    await other.getByRole("button", { name: "Log in" }).waitFor();

    await page.reload();
    expect(await page.getByText("Hello, Ada!").count()).toBe(0);
  });

  it("keeps the cookie of the session away from scripts", async () => {
    const page = await browser.open(home(platform()));
    await page.getByRole("textbox").fill("Eve");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Hello, Eve!").waitFor();
    expect(await page.evaluate("document.cookie")).toBe("");
    const cookies = await page.context().cookies();
    expect(cookies.filter(({ name }) => name === "_idx")).toMatchObject([{ httpOnly: true, sameSite: "Lax", path: "/" }]);
  });
});
