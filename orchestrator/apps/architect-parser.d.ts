// The manifest parser ships no types; this is the part of it that we call.
declare module "@architect/parser" {
  export interface Token {
    readonly type: string; // "string", "number" and "boolean" are values; the rest is space, comments and line ends.
    readonly value?: unknown;
    readonly name?: string;
    readonly values?: readonly Token[];
  }
  const parse: {
    lexer(text: string): readonly unknown[];
    parser(tokens: readonly unknown[]): { readonly values: readonly Token[] };
  };
  export default parse;
}

declare module "@architect/parser/src/compat/vendor/js-yaml.min.js" {
  const yaml: { load(text: string): unknown };
  export default yaml;
}
