// The manifest parser ships no types; this is the part of it that we call.
declare module "@architect/parser" {
  interface Parse {
    (text: string): unknown;
    json(text: string): unknown;
    yaml(text: string): unknown;
  }
  const parse: Parse;
  export default parse;
}
