/** The eleven scopes, written by hand in the order in which the specification names them: what tests compare the code with. */
export const SCOPES = [
  'integration-configuration',
  'deployment',
  'deployment-check',
  'edge-config',
  'project',
  'project-env-vars',
  'global-project-env-vars',
  'team',
  'user',
  'log-drain',
  'domain',
] as const
