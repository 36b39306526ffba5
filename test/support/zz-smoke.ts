import { createWorld, live, fn, startInstance, text } from "./gateway-world.ts";
const w = await createWorld();
console.log(w.gateway.output(), w.port);
const i = await startInstance(w, "i1", ({ header, respond }) => text(respond, JSON.stringify(header)));
await w.put({ deployment: live(w, [fn("GET", "/", { instanceIds: ["i1"] }), fn("GET", "/shop/:item", { instanceIds: ["i1"] })]) });
for (const p of ["/", "/shop/a%2Fb?x=1", "/nope"]) { const r = await fetch(`http://127.0.0.1:${w.port}${p}`); console.log(r.status, Object.fromEntries(r.headers), await r.text()); }
if (process.argv[2]) { console.log("PORT", w.port); await new Promise(r => setTimeout(r, Number(process.argv[2]))); }
console.log(w.gateway.output());
console.log(await w.status());
await w.close(); await i.kill();
