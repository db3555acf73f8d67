// The whole icon set: 16 px, one stroke, the colour of the text around it.

const paths = {
  gate: 'M3 14V7a5 5 0 0 1 10 0v7M8 9.5V12',
  high: 'M8 1.8 15 14H1L8 1.8ZM8 6.4v3.4M8 11.9v.1',
  medium: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM8 4.8v4M8 11v.1',
  low: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM5 8.2l2.1 2.1L11 6.2',
  search: 'M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2ZM10.8 10.8 14 14',
  clock: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM8 4.4V8l2.4 1.6',
  check: 'M2.5 8.5 6 12l7.5-8',
  cross: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  pen: 'M10.8 2.6l2.6 2.6L5.6 13l-3.2.6.6-3.2 7.8-7.8Z',
  reply: 'M6.5 3 2 7.5 6.5 12M2.3 7.5H9a5 5 0 0 1 5 5v.5',
  up: 'M8 13V3M3.8 7.2 8 3l4.2 4.2',
  keys: 'M1.5 4h13v8.5h-13V4ZM4 7h.1M6.7 7h.1M9.3 7h.1M12 7h.1M5 9.7h6',
  leave: 'M6 2H2.5v12H6M10 4.5 13.5 8 10 11.5M13 8H6',
  globe: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM1.8 8h12.4M8 1.5c3.6 3.6 3.6 9.4 0 13-3.6-3.6-3.6-9.4 0-13Z',
  pulse: 'M1 8.5h3l2-5 3.5 9L11.500 8.5H15',
  eye: 'M1.2 8S3.700 3.500 8 3.500 14.800 8 14.800 8 12.300 12.500 8 12.500 1.200 8 1.200 8ZM8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4Z',
  back: 'M10 3 5 8l5 5',
  plug: 'M5.500 2v3.500M10.500 2v3.500M3.500 5.500h9v2.500a4.500 4.500 0 0 1-9 0V5.500ZM8 12.500V15',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
