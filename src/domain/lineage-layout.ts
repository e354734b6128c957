/**
 * A layered layout of a directed graph, from left to right: layers by the longest way, few
 * crossings by barycentres, and places near those of neighbours (Sugiyama and others). Edges that
 * close a circle lead back; all others lead to the right. Takes time near the size of what is
 * drawn.
 */

import type { LineageEdge } from "./lineage.ts";

/** A node to be placed. */
export interface LayoutNode {
  readonly id: string;
  /** In pixels. */
  readonly width: number;
}

/** A node in its place: its left upper corner. */
export interface PlacedNode extends LayoutNode {
  readonly x: number;
  readonly y: number;
  readonly height: number;
  /** Its layer, from 0 at the left. */
  readonly layer: number;
}

/** An edge with the points that it goes through, its ends among them. */
export interface PlacedEdge extends LineageEdge {
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Whether it closes a circle and leads to the left. */
  readonly isBack: boolean;
}

/** A drawing. */
export interface Layout {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

const NODE_HEIGHT = 26;
const ROW_GAP = 10;
/** Room for an edge that passes a layer. */
const PASS_HEIGHT = 6;
const LAYER_GAP = 64;
const ORDER_SWEEPS = 6;
const PLACE_SWEEPS = 6;
/** Passes of edges through layers beyond which edges are drawn straight. */
const MOST_PASSES = 6_000;

/** A node, or the pass of an edge through a layer. */
interface Item {
  readonly node: LayoutNode | undefined;
  layer: number;
  /** Place within the layer. */
  at: number;
  /** Middle, in pixels. */
  y: number;
  readonly before: Item[];
  readonly after: Item[];
}

/** Places nodes and edges; edges of nodes that are not there are left out. */
export function layOut(nodes: readonly LayoutNode[], edges: readonly LineageEdge[]): Layout {
  const items = new Map(nodes.map((node) => [node.id, item(node, 0)]));
  const drawn = edges.filter(({ from, to }) => from !== to && items.has(from) && items.has(to));
  const forward = withoutCircles([...items.keys()], drawn);
  assignLayers(items, forward);
  const chains = chainsOf(items, forward);
  const all = [...items.values(), ...[...chains.values()].flatMap((chain) => chain.slice(1, -1))];
  const layers = layersOf(all);
  order(layers);
  place(layers);
  return drawing(layers, items, drawn, chains);
}

function item(node: LayoutNode | undefined, layer: number): Item {
  return { node, layer, at: 0, y: 0, before: [], after: [] };
}

/** The edges without those that close a circle: none leads back to a node that led to it. */
function withoutCircles(ids: readonly string[], edges: readonly LineageEdge[]): ReadonlySet<LineageEdge> {
  const out = Map.groupBy(edges, ({ from }) => from);
  const kept = new Set<LineageEdge>();
  const state = new Map<string, "open" | "done">();
  const hasInputs = new Set(edges.map(({ to }) => to));
  // Beginning where nothing leads to keeps whole ways, so that few edges lead back.
  for (const id of [...ids.filter((one) => !hasInputs.has(one)), ...ids]) {
    if (state.has(id)) continue;
    const stack = [{ id, next: 0 }];
    state.set(id, "open");
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const edge = out.get(top.id)?.[top.next++];
      if (!edge) {
        state.set(top.id, "done");
        stack.pop();
        continue;
      }
      const seen = state.get(edge.to);
      if (seen !== "open") kept.add(edge);
      if (seen) continue;
      state.set(edge.to, "open");
      stack.push({ id: edge.to, next: 0 });
    }
  }
  return kept;
}

/** Each node as far left as what leads to it lets it; where nothing does, beside the next one. */
function assignLayers(items: ReadonlyMap<string, Item>, edges: ReadonlySet<LineageEdge>): void {
  const out = Map.groupBy(edges, ({ from }) => from);
  const waits = new Map<string, number>();
  for (const { to } of edges) waits.set(to, (waits.get(to) ?? 0) + 1);
  const ready = [...items.keys()].filter((id) => !waits.has(id));
  const first = new Set(ready);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    const layer = items.get(id)?.layer ?? 0;
    for (const { to } of out.get(id) ?? []) {
      const next = items.get(to);
      if (next) next.layer = Math.max(next.layer, layer + 1);
      const left = (waits.get(to) ?? 0) - 1;
      waits.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
  for (const id of first) {
    const own = items.get(id);
    const next = (out.get(id) ?? []).map(({ to }) => items.get(to)?.layer ?? 1);
    if (own && next.length > 0) own.layer = Math.min(...next) - 1;
  }
}

/** The items that each edge goes through: its ends, and its passes through the layers between. */
function chainsOf(items: ReadonlyMap<string, Item>, edges: ReadonlySet<LineageEdge>): Map<LineageEdge, Item[]> {
  let passes = 0;
  const chains = new Map<LineageEdge, Item[]>();
  for (const edge of edges) {
    const [from, to] = [items.get(edge.from), items.get(edge.to)];
    if (!from || !to) continue;
    const between = passes > MOST_PASSES ? 0 : to.layer - from.layer - 1;
    passes += between;
    const chain = [from, ...Array.from({ length: between }, (_, at) => item(undefined, from.layer + 1 + at)), to];
    for (const [at, one] of chain.entries()) {
      const next = chain[at + 1];
      if (!next) continue;
      one.after.push(next);
      next.before.push(one);
    }
    chains.set(edge, chain);
  }
  return chains;
}

function layersOf(all: readonly Item[]): Item[][] {
  const count = all.reduce((most, { layer }) => Math.max(most, layer + 1), 0);
  const layers = Array.from({ length: count }, (): Item[] => []);
  for (const one of all) {
    one.at = layers[one.layer]?.length ?? 0;
    layers[one.layer]?.push(one);
  }
  return layers;
}

/** Orders the items of layers by the middles of their neighbours, to and fro; the best stays. */
function order(layers: readonly Item[][]): void {
  let best = crossings(layers);
  let kept = layers.map((layer) => [...layer]);
  for (let sweep = 0; sweep < ORDER_SWEEPS && best > 0; sweep++) {
    const toRight = sweep % 2 === 0;
    for (const layer of toRight ? layers : layers.toReversed()) {
      const middles = new Map(layer.map((one) => [one, middle(toRight ? one.before : one.after) ?? one.at]));
      layer.sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0) || a.at - b.at);
      for (const [at, one] of layer.entries()) one.at = at;
    }
    const found = crossings(layers);
    if (found >= best) continue;
    best = found;
    kept = layers.map((layer) => [...layer]);
  }
  for (const [number, layer] of kept.entries()) {
    layers[number]?.splice(0, layer.length, ...layer);
    for (const [at, one] of layer.entries()) one.at = at;
  }
}

function middle(items: readonly Item[]): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, { at }) => sum + at, 0) / items.length;
}

/** How many pairs of edges between neighbouring layers cross, counted by a tree of sums. */
function crossings(layers: readonly (readonly Item[])[]): number {
  let count = 0;
  for (const [number, layer] of layers.entries()) {
    const size = layers[number + 1]?.length ?? 0;
    const sums = new Array<number>(size + 1).fill(0);
    let all = 0;
    for (const one of layer) {
      const ends = one.after.map(({ at }) => at);
      for (const end of ends) {
        let before = 0;
        for (let at = end + 1; at > 0; at -= at & -at) before += sums[at] ?? 0;
        count += all - before;
      }
      for (const end of ends) for (let at = end + 1; at <= size; at += at & -at) sums[at] = (sums[at] ?? 0) + 1;
      all += ends.length;
    }
  }
  return count;
}

/** Puts the items of each layer near their neighbours, in their order and with room between. */
function place(layers: readonly (readonly Item[])[]): void {
  for (const layer of layers) {
    let y = 0;
    for (const [at, one] of layer.entries()) {
      y += at === 0 ? 0 : room(layer[at - 1] as Item, one);
      one.y = y;
    }
  }
  for (let sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
    const toRight = sweep % 2 === 0;
    for (const layer of toRight ? layers : layers.toReversed())
      settle(
        layer,
        layer.map((one) => {
          const near = toRight ? one.before : one.after;
          return near.length === 0 ? one.y : near.reduce((sum, { y }) => sum + y, 0) / near.length;
        }),
      );
  }
}

/** Pixels from the middle of an item to that of the next one. */
function room(a: Item, b: Item): number {
  return ((a.node ? NODE_HEIGHT : PASS_HEIGHT) + (b.node ? NODE_HEIGHT : PASS_HEIGHT)) / 2 + ROW_GAP;
}

/** Moves items as little as possible from where they should be, in their order and with room. */
function settle(layer: readonly Item[], wanted: readonly number[]): void {
  const blocks: { sum: number; count: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const [at, one] of layer.entries()) {
    if (at > 0) offset += room(layer[at - 1] as Item, one);
    offsets.push(offset);
    let block = { sum: (wanted[at] ?? 0) - offset, count: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.count >= block.sum / block.count; last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  let at = 0;
  for (const { count, sum } of blocks)
    for (let left = count; left > 0; left--, at++) {
      const one = layer[at];
      if (one) one.y = sum / count + (offsets[at] ?? 0);
    }
}

function drawing(
  layers: readonly (readonly Item[])[],
  items: ReadonlyMap<string, Item>,
  edges: readonly LineageEdge[],
  chains: ReadonlyMap<LineageEdge, readonly Item[]>,
): Layout {
  const top = layers.flat().reduce((least, { y }) => Math.min(least, y), Number.POSITIVE_INFINITY) - NODE_HEIGHT / 2;
  const widths = layers.map((layer) => layer.reduce((most, { node }) => Math.max(most, node?.width ?? 0), 0));
  const lefts: number[] = [];
  let x = 0;
  for (const width of widths) {
    lefts.push(x);
    x += width + LAYER_GAP;
  }
  const left = ({ layer }: Item) => lefts[layer] ?? 0;
  const middleOf = (one: Item) => one.y - top;
  const nodes = [...items.values()].flatMap((one) =>
    one.node ? [{ ...one.node, x: left(one), y: middleOf(one) - NODE_HEIGHT / 2, height: NODE_HEIGHT, layer: one.layer }] : [],
  );
  const placed = edges.flatMap((edge): PlacedEdge[] => {
    const chain = chains.get(edge) ?? [items.get(edge.from), items.get(edge.to)].filter((one) => one !== undefined);
    const [first, last] = [chain[0], chain.at(-1)];
    if (!first?.node || !last) return [];
    const passes = chain.slice(1, -1).flatMap((one): [number, number][] => {
      const y = middleOf(one);
      return [
        [left(one), y],
        [left(one) + (widths[one.layer] ?? 0), y],
      ];
    });
    const points: [number, number][] = [[left(first) + first.node.width, middleOf(first)], ...passes, [left(last), middleOf(last)]];
    return [{ ...edge, points, isBack: !chains.has(edge) }];
  });
  const bottom = nodes.reduce((most, { y, height }) => Math.max(most, y + height), 0);
  const passBottom = placed.reduce((most, { points }) => points.reduce((own, [, y]) => Math.max(own, y), most), bottom);
  return { nodes, edges: placed, width: Math.max(x - LAYER_GAP, 0), height: passBottom };
}
