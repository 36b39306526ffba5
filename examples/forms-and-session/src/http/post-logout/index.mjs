// POST /logout: an empty session is no session.
import { http } from "@orchestrator/functions";

export const handler = http.async(async () => ({ session: {}, location: "/" }));
