// Who calls the management API: the roles that a token can have, and what each may do.

/** Each may do what the one before it may: look; deploy, promote and change what apps run with; manage tokens. */
export const ROLES = ["read", "deploy", "admin"] as const;
export type Role = (typeof ROLES)[number];

export interface Caller {
  readonly tokenName: string;
  readonly role: Role;
}

export const mayDo = (role: Role, least: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(least);
