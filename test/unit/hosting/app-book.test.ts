// What is remembered of apps, and who may have which name and domain.
import { describe, expect, it } from "vitest";
import { type AppBook, openAppBook } from "../../../orchestrator/hosting/app-book.ts";
import { memoryState, type MemoryState } from "../../support/control-state.ts";

const clock = { nowEpochMs: () => 1_000 };
const open = async (state: MemoryState = memoryState()): Promise<AppBook> => openAppBook({ state, clock });

describe("a book of apps", () => {
  it("makes the first app the default one, and knows all of them again", async () => {
    const state = memoryState();
    const book = await open(state);
    const shop = await book.create("shop", "ann");
    const blog = await book.create("blog", "ann");
    expect([shop.isDefault, blog.isDefault]).toEqual([true, false]);
    expect((await open(state)).list()).toEqual([blog, shop]);
  });

  it("lets no two apps have one name", async () => {
    const book = await open();
    await book.create("shop", "ann");
    await expect(book.create("shop", "bob")).rejects.toMatchObject({ code: "APP_NAME_TAKEN" });
    const both = await Promise.allSettled([book.create("blog", "ann"), book.create("blog", "bob")]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await expect(book.create("No!", "ann")).rejects.toMatchObject({ code: "APP_NAME_INVALID" });
    expect(() => book.named("shoop")).toThrow(
      expect.objectContaining({ code: "APP_UNKNOWN", detail: { detail: expect.anything() as unknown, remedy: "There are: blog, shop." } }),
    );
  });

  it("keeps the folder's app by its id when its name changes, and lets it be the default one", async () => {
    const state = memoryState();
    const first = await open(state);
    const shop = await first.create("shop", "ann");
    const folder = await first.openDefault("hello");
    expect(first.named("shop").isDefault).toBe(false);
    const next = await open(state);
    expect(await next.openDefault("hello-again")).toMatchObject({
      appId: folder.appId,
      name: "hello-again",
      isDefault: true,
      source: "folder",
    });
    await expect(next.openDefault(shop.name)).rejects.toMatchObject({ code: "APP_NAME_TAKEN" });
    await expect(next.beginRemoval("hello-again")).rejects.toMatchObject({ code: "APP_KEPT" });
  });

  it("gives a domain to one app per environment, and back", async () => {
    const book = await open();
    await book.create("shop", "ann");
    await book.create("blog", "ann");
    const place = { domain: "x.example.org", environment: "production" } as const;
    expect((await book.addDomain("shop", place)).domains).toEqual({ staging: [], production: ["x.example.org"] });
    expect((await book.addDomain("shop", place)).domains.production).toHaveLength(1);
    await expect(book.addDomain("blog", place)).rejects.toMatchObject({ code: "DOMAIN_TAKEN" });
    await book.addDomain("blog", { ...place, environment: "staging" });
    await expect(book.addDomain("blog", { ...place, domain: "blog.localhost" })).rejects.toMatchObject({ code: "DOMAIN_INVALID" });
    await book.removeDomain("shop", "x.example.org");
    expect((await book.addDomain("blog", place)).domains.production).toEqual(["x.example.org"]);
    await expect(book.removeDomain("shop", "x.example.org")).rejects.toMatchObject({ code: "DOMAIN_INVALID" });
  });

  it("remembers that a removal was begun until the app is forgotten", async () => {
    const state = memoryState();
    const book = await open(state);
    const { appId } = await book.create("shop", "ann");
    await book.beginRemoval("shop");
    expect((await open(state)).named("shop").isLeaving).toBe(true);
    await book.forget(appId);
    expect((await open(state)).list()).toEqual([]);
  });
});
