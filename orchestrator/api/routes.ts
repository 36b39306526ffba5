// Every route of the management API, the one that describes the others included.
import { type AppRouteParts, appRoutes } from "./app-routes.ts";
import { type BackupRouteParts, backupRoutes } from "./backup-routes.ts";
import { type DataRouteParts, dataRoutes } from "./data-routes.ts";
import { type DeliveryRouteParts, deliveryRoutes } from "./delivery-routes.ts";
import { type DiskRouteParts, diskRoutes } from "./disk-routes.ts";
import { openApiDocument } from "./openapi.ts";
import { type ReleaseRouteParts, releaseRoutes } from "./release-routes.ts";
import { type ApiRoute, Type, route } from "./route.ts";
import { type StateParts, stateRoutes } from "./state-routes.ts";
import { type TokenParts, tokenRoutes } from "./token-routes.ts";
import { type VariablesRouteParts, variablesRoutes } from "./variables-routes.ts";

export interface ApiParts
  extends
    StateParts,
    AppRouteParts,
    DeliveryRouteParts,
    ReleaseRouteParts,
    TokenParts,
    VariablesRouteParts,
    DataRouteParts,
    BackupRouteParts,
    DiskRouteParts {
  readonly port: number;
}

export function apiRoutes(parts: ApiParts): readonly ApiRoute[] {
  const routes = [
    ...stateRoutes(parts),
    ...appRoutes(parts),
    ...deliveryRoutes(parts),
    ...releaseRoutes(parts),
    ...tokenRoutes(parts),
    ...variablesRoutes(parts),
    ...dataRoutes(parts),
    ...backupRoutes(parts),
    ...diskRoutes(parts),
  ];
  const described: ApiRoute[] = [
    ...routes,
    route({
      method: "GET",
      path: "/api/openapi.json",
      role: "read",
      summary: "This API as an OpenAPI 3.1 document.",
      answer: {
        kind: "json",
        schema: Type.Object({}, { additionalProperties: true }),
        handle: async () => openApiDocument(described, parts.port),
      },
    }),
  ];
  return described;
}
