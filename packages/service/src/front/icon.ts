import { sealOutline } from '../documents/icons.ts'

/** The seal by itself, for tabs and bookmarks. */
export const ICON_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>path{fill:#0a6448}path+path{fill:none;stroke:#fff;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}@media(prefers-color-scheme:dark){path{fill:#63d3a8}path+path{fill:none;stroke:#06251b}}</style><path d="${sealOutline()}"/><path d="M5.3 12.5l2.8 2.9 5.6-6.8M11.2 14.7l.8.7 6.2-6.8"/></svg>
`
