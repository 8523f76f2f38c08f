"""Heads and names by which people call samples and variables."""

from __future__ import annotations

import re

# A first column under one of these heads holds names of rows, even if they are numbers.
INDEX_HEADS = frozenset({"", "index", "unnamed 0", "index level 0", "rownames", "row names", "id ref"})
# Under one of these too, if they are all different: identifiers, and the numbers of the samples in our own scores.csv.
IDENTIFIER_HEADS = frozenset(
    {
        *("id", "sample", "sample id", "sampleid", "sample name", "samples", "subject", "subject id", "patient"),
        *("patient id", "donor", "barcode", "cell", "cell id", "geo accession", "name", "probe", "proben id"),
    }
)
# Identifiers of variables and positions on an axis: as above.
VARIABLE_NUMBER_HEADS = frozenset(
    {
        *(
            "entrez",
            "entrez id",
            "entrezid",
            "entrez gene id",
            "gene id",
            "geneid",
            "probe id",
            "probeid",
            "feature id",
        ),
        *("otu id", "wavelength", "wavenumber", "m/z", "mz"),
    }
)
# Under one of these, the rows are variables, and the other columns samples.
VARIABLE_HEADS = frozenset(
    {
        *("gene", "genes", "geneid", "gene id", "gene name", "genename", "gene symbol", "genesymbol", "symbol"),
        *("hgnc symbol", "hugo symbol", "ensembl", "ensembl id", "ensembl gene id", "ensemblid", "ensg", "entrez"),
        *("entrez id", "entrezid", "entrez gene id", "id ref", "probe id", "probeid", "probeset", "probeset id"),
        *("probe set", "probe set id", "transcript", "transcript id", "tracking id", "target id", "protein id"),
        *(
            "protein ids",
            "proteinid",
            "uniprot",
            "uniprot id",
            "peptide",
            "feature id",
            "otu",
            "otu id",
            "asv",
            "taxon",
        ),
        *("taxonomy", "metabolite", "analyte", "cpg", "cpg id", "snp", "rsid", "mirna", "variables", "wavelength"),
        *("wavenumber", "m/z", "mz"),
    }
)
# The same, if there are more rows than columns; in German, a Probe is a sample.
WEAK_VARIABLE_HEADS = frozenset(
    {
        *("probe", "probes", "protein", "feature", "features", "variable", "variables", "compound", "symbol", "taxon"),
        *("taxonomy", "metabolite", "analyte"),
    }
)
# Columns that describe variables: left out when rows turn out to be variables, even if they hold numbers.
ANNOTATION_HEADS = frozenset(
    {
        *("chr", "chrom", "chromosome", "start", "end", "stop", "strand", "length", "gene length", "width", "position"),
        *("pos", "entrez", "entrezid", "entrez id", "entrez gene id", "identifier", "description", "biotype"),
        *("effective length", "gc", "gc content", "exon count"),
    }
)
# Heads of columns that are labels, if they have few different values.
LABEL_HEADS = frozenset(
    {
        *("class", "classes", "label", "labels", "target", "y", "group", "groups", "type", "species", "category"),
        *("cluster", "batch", "outcome", "diagnosis", "status", "condition", "treatment", "digit", "sex", "grade"),
        *("stage", "subtype", "phenotype", "tissue", "cell type", "celltype"),
    }
)

VARIABLE_NAME = re.compile(
    r"\d+(?:_[a-z]+)*_at|AFFX-.*|ENS[A-Z]*[GTPE]\d{6,}(?:\.\d+)?|ILMN_\d+|A_\d+_P\d+|cg\d{8}|[NX][MRP]_\d+(?:\.\d+)?"
    r"|rs\d{3,}|hsa-(?:mir|let)-.*|FBgn\d+|AT[1-5CM]G\d{5}|Y[A-P][LR]\d{3}[WC](?:-[A-Z])?|[OPQ]\d[A-Z0-9]{3}\d",
    re.I,
)
# Genes that a table of genes has, whatever the tissue, in capital letters.
COMMON_GENES = frozenset(
    {
        *(
            "ACTB",
            "GAPDH",
            "TP53",
            "B2M",
            "EGFR",
            "MYC",
            "BRCA1",
            "BRCA2",
            "PTEN",
            "RB1",
            "KRAS",
            "VEGFA",
            "TNF",
            "IL6",
        ),
        *("CD4", "CD8A", "ESR1", "ERBB2", "MKI67", "HPRT1", "RPLP0", "RPL13A", "TUBB", "CDKN1A", "JUN", "FOS", "STAT3"),
        *("AKT1", "MTOR", "CCND1", "TGFB1", "HSP90AA1", "EEF1A1", "PCNA", "VIM", "CDH1", "NOTCH1", "APOE", "TTN"),
    }
)
SAMPLE_NAME = re.compile(
    r"GSM\d+.*|[SED]RR\d+.*|SAM(?:N|EA)\d+|TCGA-.{2}-.*|.*\.(?:bam|sam|cel|cel\.gz|fastq|idat)", re.I
)
NUMBERED_SAMPLE = re.compile(
    r"(?:sample|samp|patient|pat|subject|subj|donor|individual|control|ctrl|treated|tumou?r|normal|case|mouse|rat)"
    r"[ ._-]*\w{0,4}\d+",
    re.I,
)
DATE = re.compile(
    r"(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d(?:[T ].*)?"
    r"|\d{1,2}[- .](?:jan|feb|mar|mrz|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*(?:[- .]\d{2,4})?",
    re.I,
)


def plain_head(head: str) -> str:
    """A head in small letters, with spaces for other signs between words."""
    return " ".join(re.sub(r"[\s._:#-]+", " ", head.lower()).split())
