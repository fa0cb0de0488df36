/**
 * The places of an event that some subscription looks at, as a tree, so that one walk over an
 * event reads each of them once. The walk follows the smaller of the two, the tree's branches or
 * the event's keys, so it never costs more than the event is large.
 */
import { parsePath } from '#kernel/domain/filter/attribute-path.ts'
import { type JsonObject, scalarText } from '#kernel/domain/json-scalar.ts'

/** One place; `id` is -1 where nobody looks at the place itself, only below it. */
interface PathNode {
  readonly segment: string
  readonly parent: PathNode | undefined
  readonly children: Map<string, PathNode>
  /** The children again, for a fast loop. */
  list: PathNode[]
  /** True for names that objects or arrays inherit: these are looked up with care. */
  readonly isRisky: boolean
  id: number
  refs: number
  path: string
}

/** The tree, and the text found at each place by the last walk. */
export interface PathTable {
  readonly root: PathNode
  readonly byPath: Map<string, PathNode>
  readonly byId: (PathNode | undefined)[]
  readonly freeIds: number[]
  /** Text at each place, valid where the stamp is the current walk. */
  readonly texts: string[]
  readonly stamps: number[]
  walk: number
  /** Ids of the places that the event has a text at; `presentCount` of them are valid. */
  readonly present: number[]
  presentCount: number
}

/** Objects with more branches than this below one place may be walked by the event's keys. */
const BRANCHES_WALKED_MAX = 16

export function createPathTable(): PathTable {
  return {
    root: pathNode('', undefined),
    byPath: new Map(),
    byId: [],
    freeIds: [],
    texts: [],
    stamps: [],
    walk: 0,
    present: [],
    presentCount: 0,
  }
}

function pathNode(segment: string, parent: PathNode | undefined): PathNode {
  const isRisky = segment in Array.prototype || segment === 'rawJSON'
  return {
    segment,
    parent,
    children: new Map(),
    list: [],
    isRisky,
    id: -1,
    refs: 0,
    path: '',
  }
}

/** The id of a valid path, kept until as many `releasePath`. */
export function acquirePath(table: PathTable, path: string): number {
  const node = table.byPath.get(path) ?? addPath(table, path)
  node.refs++
  return node.id
}

function addPath(table: PathTable, path: string): PathNode {
  let node = table.root
  for (const segment of parsePath(path) ?? [path]) {
    let child = node.children.get(segment)
    if (child === undefined) {
      child = pathNode(segment, node)
      node.children.set(segment, child)
      node.list.push(child)
    }
    node = child
  }
  if (node.id < 0) {
    node.id = table.freeIds.pop() ?? table.byId.length
    node.path = path
    table.byId[node.id] = node
    table.stamps[node.id] = -1
    table.texts[node.id] = ''
  }
  table.byPath.set(path, node)
  return node
}

/** Gives a path back; the last one removes the place from the tree. */
export function releasePath(table: PathTable, id: number): void {
  const node = table.byId[id]
  if (node === undefined || --node.refs > 0) return
  table.byId[id] = undefined
  table.freeIds.push(id)
  table.byPath.delete(node.path)
  node.id = -1
  let at: PathNode | undefined = node
  while (at?.parent !== undefined && at.id < 0 && at.children.size === 0) {
    const { parent, segment }: PathNode = at
    parent.children.delete(segment)
    parent.list = [...parent.children.values()]
    at = parent
  }
}

/** The path that an id stands for. */
export function pathText(table: PathTable, id: number): string | undefined {
  return table.byId[id]?.path
}

/** Reads every place of the tree from the event. */
export function walkEvent(table: PathTable, event: JsonObject): void {
  table.walk++
  table.presentCount = 0
  visitBelow(table, table.root, event)
}

/** The text that the last walk found at the place: undefined where there was none. */
export function textAt(table: PathTable, id: number): string | undefined {
  return table.stamps[id] === table.walk ? table.texts[id] : undefined
}

function visitBelow(table: PathTable, node: PathNode, value: JsonObject): void {
  const { list } = node
  if (list.length > BRANCHES_WALKED_MAX) {
    const keys = Object.keys(value)
    if (keys.length < list.length) {
      visitKeys(table, node, value, keys)
      return
    }
  }
  for (let at = 0; at < list.length; at++) {
    const child = list[at]
    if (child !== undefined) visit(table, child, value)
  }
}

function visitKeys(table: PathTable, node: PathNode, value: JsonObject, keys: string[]): void {
  for (const key of keys) {
    const child = node.children.get(key)
    if (child !== undefined) visit(table, child, value)
  }
}

function visit(table: PathTable, node: PathNode, parent: JsonObject): void {
  const value = own(parent, node)
  if (value === undefined || value === null) return
  if (node.id >= 0) {
    const text = typeof value === 'string' ? value : scalarText(value)
    if (text !== undefined) {
      table.texts[node.id] = text
      table.stamps[node.id] = table.walk
      table.present[table.presentCount++] = node.id
    }
  }
  if (node.list.length > 0 && isContainer(value)) visitBelow(table, node, value)
}

/** Objects and arrays; a number kept as text passes, and its one name is looked up with care. */
function isContainer(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null
}

const ARRAY_INDEX = /^(?:0|[1-9]\d{0,8})$/

/** The same as `childOf` of the kernel, without its checks where the name needs none. */
function own(parent: JsonObject, node: PathNode): unknown {
  const { segment } = node
  if (Array.isArray(parent)) {
    return ARRAY_INDEX.test(segment) ? parent[Number(segment)] : undefined
  }
  if (!node.isRisky) return parent[segment]
  if (JSON.isRawJSON(parent) || !Object.hasOwn(parent, segment)) return undefined
  return parent[segment]
}
