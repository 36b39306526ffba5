// What the schemas of the management API are made of; the only file that knows the library behind them.
import { Type, type Static, type TObject, type TSchema } from "typebox";

export { Type };
export type { Static, TObject, TSchema };
