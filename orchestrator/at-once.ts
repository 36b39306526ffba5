// Does the same to many things, so many at once.

export async function mapAtOnce<Item, Result>(
  items: readonly Item[],
  countAtOnce: number,
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(countAtOnce, items.length) }, work));
  return results;
}
