// What is said.
export interface Greeting {
  readonly name: string;
  readonly isLoud: boolean;
}

export function greet({ name, isLoud }: Greeting): string {
  const text = `Hello, ${name}!`;
  return `${isLoud ? text.toUpperCase() : text}\n`;
}
