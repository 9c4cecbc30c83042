/** Lines of a snapshot, and worlds of control planes, for the tests of the sites server. */
import type { DeploymentLine, GoneLine, NameLine, ProjectLine } from '../../../src/delivery/protocol/snapshot.ts'

export function name(host: string, deploymentId: string | null, projectId = 'p1'): NameLine {
  const domain = { projectId, redirect: null, redirectStatusCode: null, ofBranch: false, deploymentId }
  return { kind: 'name', name: host, domain }
}

export function deployment(id: string, more: Partial<DeploymentLine> = {}): DeploymentLine {
  const facts = { id, projectId: 'p1', ready: true, production: true, upstream: null, output: null }
  return { kind: 'deployment', ...facts, ...more }
}

export function project(id: string, more: Partial<ProjectLine> = {}): ProjectLine {
  return { kind: 'project', id, paused: false, liveDeploymentId: null, ...more }
}

export function gone(of: GoneLine['of'], id: string): GoneLine {
  return { kind: 'gone', of, id }
}
