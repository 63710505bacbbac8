import { signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const NAME = 'countersign-theme'

/** The theme that was chosen in this browser. */
export const theme = signal<Theme>(readTheme())

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  try {
    localStorage.setItem(NAME, chosen)
  } catch {
    // A browser that stores nothing uses the theme of the system next time.
  }
  applyTheme()
}

export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(NAME)
    return themes.find((each) => each === stored) ?? 'system'
  } catch {
    return 'system'
  }
}
