/** The Node.js versions that a project may ask for. The specification's, and those of the newest SDK before them. */
export const NODE_VERSIONS = ['24.x', '22.x', '20.x', '18.x', '16.x', '14.x', '12.x', '10.x', '8.10.x'] as const
