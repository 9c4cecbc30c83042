/** The host index as lines for sites servers. docs/deploying-sites.md: Data of the sites server. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  deploymentLine,
  type FactLine,
  type GoneLine,
  nameLine,
  projectLine,
  type SnapshotLine,
} from '../../delivery/protocol/snapshot.ts'
import type { DeploymentRecord, NameRecord } from '../../platform/verdict/facts.ts'
import type { HostIndex, Known } from '../../platform/verdict/hosts.ts'

/** Facts written or compared before yielding to proxies. */
const SLICE = 250

/**
 * Yields the facts for keys of `edge_change`, with the targets of names, which the reader may not have. Each fact comes once: thousands of names
 * may have one target. Names come first, because a reader drops targets without one.
 */
export function* linesOf({ facts }: HostIndex, keys: Iterable<string>): Generator<FactLine> {
  const targets = openTargets(facts)
  for (const key of keys) {
    const [kind, id] = split(key)
    if (kind === 'deployment') targets.deployments.add(id)
    else if (kind === 'project') targets.projects.add(id)
    else if (kind === 'domain') {
      const name = facts.names.get(id)
      yield name === undefined ? gone('name', id) : targets.lineOf(name)
    }
  }
  yield* targets.lines()
}

/** The deployments and projects whose lines follow those of the names. */
function openTargets(facts: Known) {
  const [deployments, projects] = [new Set<string>(), new Set<string>()]
  return {
    deployments,
    projects,
    /** Returns the line of a name, and notes its targets. */
    lineOf(name: NameRecord): FactLine {
      if (name.domain !== undefined) projects.add(name.domain.projectId)
      if (name.domain?.deploymentId != null) deployments.add(name.domain.deploymentId)
      return nameLine(name)
    },
    *lines(): Generator<FactLine> {
      for (const id of deployments) yield lineOfDeployment(facts, id)
      for (const id of projects) yield lineOfProject(facts, id)
    },
  }
}

/** Yields all facts as chunks of text, yielding to proxies after each. Counts the facts in `count`. */
export async function* allLines({ facts }: HostIndex, count: { lines: number }): AsyncGenerator<Buffer> {
  function* every(): Generator<FactLine> {
    const targets = openTargets(facts)
    for (const name of facts.names.values()) yield targets.lineOf(name)
    yield* targets.lines()
  }
  let text = ''
  for (const line of every()) {
    text += textOf(line)
    if (++count.lines % SLICE !== 0) continue
    yield Buffer.from(text)
    text = ''
    await nextTurn()
  }
  yield Buffer.from(text)
}

/** Formats a fact as a line. */
export function textOf(line: SnapshotLine): string {
  return `${JSON.stringify(line)}\n`
}

/** Returns the keys, as in `edge_change`, in which two indexes differ. */
export async function keysThatDiffer({ facts: a }: HostIndex, { facts: b }: HostIndex): Promise<string[]> {
  const ofDeployment = (facts: DeploymentRecord) => `${facts.url} ${textOf(deploymentLine(facts))}`
  return [
    ...(await differing('domain', a.names, b.names, (facts) => textOf(nameLine(facts)))),
    ...(await differing('deployment', a.deployments, b.deployments, ofDeployment)),
    ...(await differing('project', a.projects, b.projects, (facts) => textOf(projectLine(facts)))),
  ]
}

async function differing<F>(
  kind: string,
  a: ReadonlyMap<string, F>,
  b: ReadonlyMap<string, F>,
  text: (facts: F) => string,
): Promise<string[]> {
  const keys: string[] = []
  let compared = 0
  for (const id of new Set([...a.keys(), ...b.keys()])) {
    const [before, after] = [a.get(id), b.get(id)]
    if (before === undefined || after === undefined || text(before) !== text(after)) keys.push(`${kind} ${id}`)
    if (++compared % SLICE === 0) await nextTurn()
  }
  return keys
}

function lineOfDeployment({ deployments }: Known, id: string): FactLine {
  const facts = deployments.get(id)
  return facts === undefined ? gone('deployment', id) : deploymentLine(facts)
}

function lineOfProject({ projects }: Known, id: string): FactLine {
  const facts = projects.get(id)
  return facts === undefined ? gone('project', id) : projectLine(facts)
}

function gone(of: GoneLine['of'], id: string): GoneLine {
  return { kind: 'gone', of, id }
}

function split(key: string): [kind: string, id: string] {
  const end = key.indexOf(' ')
  return [key.slice(0, end), key.slice(end + 1)]
}
