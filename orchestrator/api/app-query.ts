// How routes of the management API say which app they are about.
import type { HostedApp } from "../hosting/hosted-app.ts";
import { Type } from "./route.ts";

/** Of a query. */
export const APP_FIELD = { app: Type.Optional(Type.String({ description: "the name of an app; without it, the default app" })) };

export type FindApp = (name?: string) => HostedApp;
