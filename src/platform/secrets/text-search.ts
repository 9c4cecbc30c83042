/** Finds many words in a text in time that is linear in both, whatever they are (Aho and Corasick, 1975). */

/** Positions in UTF-16 units; `end` is behind the last one. */
type Found = { start: number; end: number }

const ROOT = 0
const NONE = -1

type Search = (text: string) => Found[]

/** Characters or nodes per step: less than a millisecond. */
const STEP = 2048

/**
 * Builds a search for these words, which are not empty, in steps. The search returns the parts of a text that belong to a word, in their order;
 * parts that touch each other are one. Takes some 30 bytes for each character of the words.
 */
export function* searchSteps(words: readonly string[]): Generator<void, Search> {
  const nodes = openNodes(words.reduce((sum, { length }) => sum + length, 1))
  let added = 0
  for (const word of words) {
    nodes.add(word)
    added += word.length
    if (added < STEP) continue
    added = 0
    yield
  }
  let linked = 0
  for (const node of nodes.inOrder()) {
    nodes.link(node)
    if (++linked % STEP === 0) yield
  }
  return nodes.search
}

/** The words as a tree of their beginnings. */
function openNodes(size: number) {
  const steps = openSteps(size)
  /** Of each node: its parent and character, the node of its longest proper suffix, and the length of the longest word that it ends with. */
  const [parents, characters] = [new Int32Array(size), new Uint16Array(size)]
  const [suffixes, lengths] = [new Int32Array(size), new Int32Array(size)]
  const depths = new Int32Array(size)
  let count = 1
  const step = (from: number, character: number): number => {
    for (let node = from; ; node = suffixes[node]!) {
      const next = steps.get(node, character)
      if (next !== NONE) return next
      if (node === ROOT) return ROOT
    }
  }
  return {
    add(word: string) {
      let node = ROOT
      for (let at = 0; at < word.length; at++) {
        const character = word.charCodeAt(at)
        let next = steps.get(node, character)
        if (next === NONE) {
          next = count++
          steps.set(node, character, next)
          parents[next] = node
          characters[next] = character
          depths[next] = at + 1
        }
        node = next
      }
      lengths[node] = word.length
    },
    inOrder: () => orderOf(depths.subarray(0, count)).subarray(1),
    /** Needs the nodes of shorter texts linked. */
    link(node: number) {
      const parent = parents[node]!
      if (parent !== ROOT) suffixes[node] = step(suffixes[parent]!, characters[node]!)
      lengths[node] ||= lengths[suffixes[node]!]!
    },
    search(text: string): Found[] {
      const found: Found[] = []
      let node = ROOT
      for (let at = 0; at < text.length; at++) {
        node = step(node, text.charCodeAt(at))
        const length = lengths[node]!
        if (length > 0) add(found, at + 1 - length, at + 1)
      }
      return found
    },
  }
}

/** Returns the nodes with those of shorter texts first, in time that is linear. */
function orderOf(depths: Int32Array): Int32Array {
  const starts = new Int32Array(depths.reduce((most, depth) => Math.max(most, depth), 0) + 2)
  for (const depth of depths) starts[depth + 1]!++
  for (let depth = 1; depth < starts.length; depth++) starts[depth]! += starts[depth - 1]!
  const order = new Int32Array(depths.length)
  for (const [node, depth] of depths.entries()) order[starts[depth]!++] = node
  return order
}

/** Ends come in ascending order, and a longer word may begin before what was found. */
function add(found: Found[], start: number, end: number): void {
  let from = start
  for (let last = found.at(-1); last !== undefined && last.end >= from; last = found.at(-1)) {
    from = Math.min(from, last.start)
    found.pop()
  }
  found.push({ start: from, end })
}

/** The steps from node to node, in a hash table of numbers: an object for each node would take ten times the memory. */
function openSteps(size: number) {
  const slots = 2 ** Math.ceil(Math.log2(2 * size + 1))
  const [nodes, characters, next] = [new Int32Array(slots).fill(NONE), new Uint16Array(slots), new Int32Array(slots)]
  const slotOf = (node: number, character: number): number => {
    let slot = (Math.imul(node, 0x9e3779b1) ^ Math.imul(character + SEED, 0x85ebca6b)) >>> 0
    slot = Math.imul(slot ^ (slot >>> 15), 0x2c1b3c6d) & (slots - 1)
    while (nodes[slot] !== NONE && (nodes[slot] !== node || characters[slot] !== character))
      slot = (slot + 1) & (slots - 1)
    return slot
  }
  return {
    get(node: number, character: number): number {
      const slot = slotOf(node, character)
      return nodes[slot] === NONE ? NONE : next[slot]!
    },
    set(node: number, character: number, to: number): void {
      const slot = slotOf(node, character)
      nodes[slot] = node
      characters[slot] = character
      next[slot] = to
    },
  }
}

/** Unknown to who chooses the words. */
const SEED = Math.floor(Math.random() * 2 ** 30)
