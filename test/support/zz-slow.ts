import { connect } from "node:net";
import { createWorld } from "./gateway-world.ts";
const w = await createWorld(); await w.put({ deployment: { kind: "none" } });
const one = (name: string, data: string) => new Promise<void>((res) => { const t = performance.now(); let got = ""; const s = connect(w.port, "127.0.0.1", () => s.write(data)); s.on("data", (d) => got += d); s.on("error", (e) => got += e.message); s.on("close", () => { console.log(name, Math.round(performance.now() - t), got.slice(0, 60).replaceAll("\r\n", "|")); res(); }); setTimeout(() => { if (!s.destroyed) { console.log(name, "still open"); s.destroy(); } }, 45000).unref(); });
const { fn, live } = await import("./gateway-world.ts");
await w.put({ deployment: live(w, [fn("GET", "/")]) });
await Promise.all([one("silent", ""), one("half head", "GET / HTTP/1.1\r\nhost:"), one("half body", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")]);
console.log(await w.status(), w.gateway.output());
await w.close();
