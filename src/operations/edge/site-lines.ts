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
import type { DeploymentRecord } from '../../platform/verdict/facts.ts'
import type { HostIndex, Known } from '../../platform/verdict/hosts.ts'

/** Facts written or compared before yielding to proxies. */
const SLICE = 250

/** Yields the facts for a key of `edge_change`, with the targets of a name, which the reader may not have. */
export function* linesOf({ facts }: HostIndex, key: string): Generator<FactLine> {
  const [kind, id] = split(key)
  if (kind === 'deployment') yield lineOfDeployment(facts, id)
  else if (kind === 'project') yield lineOfProject(facts, id)
  else if (kind === 'domain') {
    const name = facts.names.get(id)
    yield name === undefined ? gone('name', id) : nameLine(name)
    if (name?.domain === undefined) return
    if (name.domain.deploymentId !== null) yield lineOfDeployment(facts, name.domain.deploymentId)
    yield lineOfProject(facts, name.domain.projectId)
  }
}

/** Yields all facts as chunks of text, yielding to proxies after each. Counts the facts in `count`. */
export async function* allLines({ facts }: HostIndex, count: { lines: number }): AsyncGenerator<Buffer> {
  const deployments = new Set<string>()
  const projects = new Set<string>()
  function* every(): Generator<FactLine> {
    for (const name of facts.names.values()) {
      yield nameLine(name)
      if (name.domain === undefined) continue
      projects.add(name.domain.projectId)
      if (name.domain.deploymentId !== null) deployments.add(name.domain.deploymentId)
    }
    for (const id of deployments) yield lineOfDeployment(facts, id)
    for (const id of projects) yield lineOfProject(facts, id)
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
export async function keysThatDiffer({ facts: one }: HostIndex, { facts: other }: HostIndex): Promise<string[]> {
  const ofDeployment = (facts: DeploymentRecord) => `${facts.url} ${textOf(deploymentLine(facts))}`
  return [
    ...(await differing('domain', one.names, other.names, (facts) => textOf(nameLine(facts)))),
    ...(await differing('deployment', one.deployments, other.deployments, ofDeployment)),
    ...(await differing('project', one.projects, other.projects, (facts) => textOf(projectLine(facts)))),
  ]
}

async function differing<F>(
  kind: string,
  one: ReadonlyMap<string, F>,
  other: ReadonlyMap<string, F>,
  text: (facts: F) => string,
): Promise<string[]> {
  const keys: string[] = []
  let compared = 0
  for (const id of new Set([...one.keys(), ...other.keys()])) {
    const [before, after] = [one.get(id), other.get(id)]
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
