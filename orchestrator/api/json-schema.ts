// The part of JSON Schema that the management API speaks: how its schemas are written down, the types that they stand for, and what fits them. Pure.
//
// By hand, because every command and every start needs it: libraries that do the same load hundreds of files for it (measured: three
// quarters of what a command took).

/** What of it is used. A schema that leaves out a keyword says nothing about that. */
export interface Keywords {
  readonly type?: "string" | "integer" | "number" | "boolean" | "null" | "array" | "object";
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Keywords[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string; // For readers alone.
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Keywords;
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Keywords>>;
  readonly additionalProperties?: boolean;
  readonly description?: string;
  readonly writeOnly?: boolean;
}

/** What may be said of a schema besides what it is made of. */
type Options = Omit<Keywords, "type" | "const" | "enum" | "anyOf" | "items" | "properties" | "required" | "patternProperties">;

declare const VALUE: unique symbol; // Of types alone: no schema has it.
const OPTIONAL = Symbol("optional"); // Does not show in JSON.

interface Standing<Value> {
  readonly [VALUE]?: Value;
}
interface Optional {
  readonly [OPTIONAL]: true;
}

export type Schema<Value> = Keywords & Standing<Value>;
export type TSchema = Schema<unknown>;
export type TObject = ObjectSchema<Properties, unknown>;
/** The type of the values that a schema takes. */
export type Static<Of extends TSchema> = Of extends Standing<infer Value> ? Value : never;

type Properties = Readonly<Record<string, TSchema>>;
type ObjectSchema<Named extends Properties, Value> = Schema<Value> & { readonly type: "object"; readonly properties: Named };
type ArraySchema<Item extends TSchema> = Schema<Static<Item>[]> & { readonly type: "array"; readonly items: Item };
type RecordSchema<Item extends TSchema> = Schema<Record<string, Static<Item>>> & {
  readonly patternProperties: Readonly<Record<string, Item>>;
};

type NeededOf<Named extends Properties> = { [Name in keyof Named as Named[Name] extends Optional ? never : Name]: Static<Named[Name]> };
type OptionalOf<Named extends Properties> = { [Name in keyof Named as Named[Name] extends Optional ? Name : never]?: Static<Named[Name]> };
type ObjectOf<Named extends Properties> = Flat<NeededOf<Named> & OptionalOf<Named>>;
type Flat<Fields> = { [Name in keyof Fields]: Fields[Name] };

const ANY_NAME = "^.*$";

export const Type = {
  String: (options: Options = {}): Schema<string> => ({ type: "string", ...options }),
  Integer: (options: Options = {}): Schema<number> => ({ type: "integer", ...options }),
  Number: (options: Options = {}): Schema<number> => ({ type: "number", ...options }),
  Boolean: (options: Options = {}): Schema<boolean> => ({ type: "boolean", ...options }),
  Null: (options: Options = {}): Schema<null> => ({ type: "null", ...options }),
  Unknown: (options: Options = {}): Schema<unknown> => ({ ...options }),
  Literal: <const Value extends string>(value: Value, options: Options = {}): Schema<Value> => ({
    type: "string",
    const: value,
    ...options,
  }),
  Enum: <const Value extends string>(values: readonly Value[], options: Options = {}): Schema<Value> => ({ enum: values, ...options }),
  Union: <Part extends TSchema>(parts: readonly Part[], options: Options = {}): Schema<Static<Part>> => ({ anyOf: parts, ...options }),
  Array: <Item extends TSchema>(items: Item, options: Options = {}): ArraySchema<Item> => ({ type: "array", items, ...options }),
  /** Fields that are not named are not taken, unless it says additionalProperties. */
  Object: <Named extends Properties>(properties: Named, options: Options = {}): ObjectSchema<Named, ObjectOf<Named>> => {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name]));
    return { type: "object", ...(required.length > 0 && { required }), properties, ...options };
  },
  Record: <Item extends TSchema>(name: Schema<string>, item: Item, options: Options = {}): RecordSchema<Item> => ({
    type: "object",
    patternProperties: { [name.pattern ?? ANY_NAME]: item },
    ...options,
  }),
  /** Of an object: it may be missing. */
  Optional: <Of extends TSchema>(schema: Of): Of & Optional => ({ ...schema, [OPTIONAL]: true }),
};

export const isOptional = (schema: Keywords | undefined): boolean => schema !== undefined && OPTIONAL in schema;
export const isObject = <Of extends Keywords>(schema: Of): schema is Of & { readonly properties: Readonly<Record<string, Keywords>> } =>
  schema.properties !== undefined;
export const isRecord = <Of extends Keywords>(
  schema: Of,
): schema is Of & { readonly patternProperties: Readonly<Record<string, Keywords>> } => schema.patternProperties !== undefined;
export const isArray = <Of extends Keywords>(schema: Of): schema is Of & { readonly items: Keywords } => schema.items !== undefined;

/** Of a list, whatever its items are. */
export const isOfFittingLength = ({ minItems, maxItems }: Keywords, list: readonly unknown[]): boolean =>
  isWithin(list.length, minItems, maxItems);

export const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function fits(schema: Keywords, value: unknown): boolean {
  if (schema.const !== undefined && value !== schema.const) return false;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
  if (schema.anyOf !== undefined && !schema.anyOf.some((one) => fits(one, value))) return false;
  switch (schema.type) {
    case "string":
      return (
        typeof value === "string" && isWithin(Array.from(value).length, schema.minLength, schema.maxLength) && isLike(schema.pattern, value)
      );
    case "integer":
    case "number":
      return isNumber(schema.type, value) && isWithin(value, schema.minimum, schema.maximum);
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value) && isOfFittingLength(schema, value) && value.every((item) => fitsItem(schema, item));
    case "object":
      return isFields(value) && fitsFields(schema, value);
    case undefined:
    default:
      return true;
  }
}

const isNumber = (type: "integer" | "number", value: unknown): value is number =>
  type === "integer" ? Number.isInteger(value) : Number.isFinite(value);
const isWithin = (value: number, least = -Infinity, most = Infinity): boolean => value >= least && value <= most;
const isLike = (pattern: string | undefined, text: string): boolean => pattern === undefined || new RegExp(pattern, "u").test(text);
const fitsItem = ({ items }: Keywords, item: unknown): boolean => items === undefined || fits(items, item);

function fitsFields(
  { properties = {}, required = [], patternProperties = {} }: Keywords,
  value: Readonly<Record<string, unknown>>,
): boolean {
  if (required.some((name) => value[name] === undefined)) return false;
  const patterns = Object.entries(patternProperties);
  return Object.entries(value).every(([name, field]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined && field !== undefined && !fits(own, field)) return false;
    return patterns.every(([pattern, schema]) => !isLike(pattern, name) || fits(schema, field));
  });
}
