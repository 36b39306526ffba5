// Rules about who imports whom: directions between rooms, no circles, one file per foreign library and room. Each returns its problems.
import { importsOf, type SourceTree } from "./source-tree.ts";

interface Direction {
  readonly from: RegExp;
  readonly to: RegExp; // What files of that room may import of ours.
  readonly why: string;
}

const CONTRACT = "runtime-image/contract/";
// Whoever connects to the broker signs its nonce, and the contract may not import Node's cryptography.
const CONTRACT_AND_SIGNATURE = String.raw`runtime-image\/(?:contract\/|runtime\/nonce-signature\.ts$)`;
const DIRECTIONS: readonly Direction[] = [
  { from: /^runtime-image\/contract\//, to: /^runtime-image\/contract\//, why: "the contract imports nothing but itself" },
  {
    from: /^runtime-image\/store\//,
    to: /^runtime-image\/(?:store|contract)\/|^runtime-image\/library\/bridge\.ts$/,
    why: "the store imports the contract and what the library asks of it",
  },
  { from: /^runtime-image\/library\//, to: /^runtime-image\/(?:library|contract)\//, why: "the library imports the contract only" },
  { from: /^runtime-image\//, to: /^runtime-image\//, why: "what ships into instances imports nothing from outside itself" },
  {
    from: /^gateway\//,
    to: new RegExp(`^(?:gateway/|${CONTRACT_AND_SIGNATURE})`),
    why: "the gateway imports itself and the contract",
  },
  {
    from: /^orchestrator\/stores\//,
    // What is written by two hands must be written alike: the keeper of stores works with the very code that instances have for it.
    to: new RegExp(String.raw`^(?:orchestrator\/|runtime-image\/store\/|runtime-image\/library\/bridge\.ts$|${CONTRACT_AND_SIGNATURE})`),
    why: "the keeper of stores imports the orchestrator, the contract, and how instances reach a store",
  },
  {
    from: /^orchestrator\/(?!stores\/)/,
    to: new RegExp(`^(?:orchestrator/|${CONTRACT_AND_SIGNATURE})`),
    why: "the orchestrator imports itself and the contract",
  },
];

export function wrongDirections(tree: SourceTree): string[] {
  return [...tree].flatMap(([file, text]) => {
    const rules = DIRECTIONS.filter((rule) => rule.from.test(file));
    return importsOf(file, text).flatMap((one) => {
      if (one.kind !== "local")
        return file.startsWith(CONTRACT) ? [`${file} imports ${one.target}: the contract imports nothing but itself`] : [];
      const broken = rules.find((rule) => !rule.to.test(one.target));
      return broken === undefined ? [] : [`${file} imports ${one.target}: ${broken.why}`];
    });
  });
}

/** Every circle once, written from its alphabetically first file on. Imports of types count. */
export function circles(tree: SourceTree): string[] {
  const targets = new Map([...tree].map(([file, text]) => [file, localTargets(file, text, tree)]));
  const found = new Set<string>();
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) {
      found.add(asCircle(path.slice(start)));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const target of targets.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of tree.keys()) visit(file);
  return [...found];
}

const localTargets = (file: string, text: string, tree: SourceTree): string[] =>
  importsOf(file, text).flatMap((one) => (one.kind === "local" && tree.has(one.target) ? [one.target] : []));

function asCircle(files: readonly string[]): string {
  const first = files.reduce((least, file, index) => (file < (files[least] ?? file) ? index : least), 0);
  const turned = [...files.slice(first), ...files.slice(0, first)];
  return [...turned, ...turned.slice(0, 1)].join(" → ");
}

/** Imports of a file that is not there. */
export function danglingImports(tree: SourceTree): string[] {
  return [...tree].flatMap(([file, text]) =>
    importsOf(file, text).flatMap((one) =>
      one.kind === "local" && isSource(one.target) && !tree.has(one.target) ? [`${file} imports ${one.target}, which is not there`] : [],
    ),
  );
}

const isSource = (path: string): boolean => /\.(?:ts|mjs)$/.test(path) && !path.includes("/fixtures/");

// A command registers itself with commander, so that library belongs to every command.
const SHARED_LIBRARIES: Readonly<Record<string, RegExp>> = { commander: /^orchestrator\/(?:cli\.ts$|commands\/)/ };
const PRODUCT = /^(?:runtime-image|gateway|orchestrator)\//;

export function sharedLibraries(tree: SourceTree): string[] {
  const owners = new Map<string, string[]>(); // "room library" → files
  for (const [file, text] of tree) {
    if (!PRODUCT.test(file)) continue;
    const libraries = new Set(importsOf(file, text).flatMap((one) => (one.kind === "library" ? [one.target] : [])));
    for (const library of libraries) {
      if (SHARED_LIBRARIES[library]?.test(file) === true) continue;
      const key = `${roomOf(file)} ${library}`;
      owners.set(key, [...(owners.get(key) ?? []), file]);
    }
  }
  return [...owners].flatMap(([key, files]) => {
    const [room = "", library = ""] = key.split(" ");
    return files.length === 1 ? [] : [`${library} is imported by ${files.length} files of ${room}: ${files.toSorted().join(", ")}`];
  });
}

/** The folder, two levels deep: "orchestrator/engines". Files right below the first level are a room of their own. */
function roomOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 2).join("/");
}
