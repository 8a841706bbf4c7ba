"""The Spanish glossary and stopwords: important words mean the right thing."""

from __future__ import annotations

import pytest
from tests.glossary_support import (
    stopwords,
    without_meaning,
    without_shared_meaning,
)


def test_important_words_mean_the_right_thing() -> None:
    expected = """
correo = email
correo electrónico = email
bandeja de entrada = inbox
archivo adjunto = attachment
no leídos = unread
reunión = meeting
cita = appointment
recordatorio = reminder
mañana = tomorrow
fin de semana = weekend
hoja de cálculo = spreadsheet
carpeta = folder
papelera = trash
contraseña = password
usuario = user
factura = invoice
boleta = invoice
nómina = payroll
tipo de cambio = exchange rate
reembolso = refund
pedido = order
carrito = cart
envíos = shipping
inventario = inventory
dar de alta = register
dar de baja = unsubscribe
echar un vistazo = look
pasar a limpio = rewrite
incidencia = issue
rama = branch
repositorio = repository
solicitud de extracción = pull request
desplegar = deploy
base de datos = database
servidor = server
copia de seguridad = backup
clave de api = api key
captura de pantalla = screenshot
gráfico de barras = bar chart
pronóstico del tiempo = weather
vuelo = flight
ida y vuelta = round trip
farmacia = pharmacy
receta = recipe
efectos secundarios = side effects
aire acondicionado = air conditioner
enciende la luz = turn on light
encuesta = survey
oferta de empleo = job posting
currículum = resume
firma electrónica = electronic signature
piso en alquiler = rental
raíz cuadrada = square root
red = network
"""
    assert without_meaning("es", expected) == []


@pytest.mark.parametrize(
    "forms",
    [
        "enviar, envía, enviá, envíe, envíes, envío, enviado, enviando, envíame, envíale, envíaselo, enviarlo, mandar",
        "mandar, manda, mándame, mándale, mándaselo, mande, enviar",
        "buscar, busca, búscame, búscalo, busque, busco, buscando, buscado",
        "mostrar, muestra, muéstrame, mostrá, mostrame, muestre, enséñame",
        "borrar, bórralo, borra, borre, borrado, elimina, eliminar, elimínalo",
        "pedir, pide, pídeme, pedime, pida, pidiendo",
        "crear, crea, créame, creando, cree, creado",
        "poner, pon, ponlo, ponme, poné, pónmelo, ponga",
        "apagar, apaga, apágalo, apague, apagado",
        "traducir, traduce, tradúcelo, traduzca, traducido",
        "ordenador, computadora, computador, pc",
        "móvil, celular, teléfono móvil",
        "coche, carro, auto, vehículo",
        "piso, apartamento, departamento",
        "reunión, junta, reuniones",
        "correo, mail, email, correos electrónicos",
        "dinero, plata, lana, pasta",
    ],
)
def test_all_forms_and_regional_words_share_a_meaning(forms: str) -> None:
    assert without_shared_meaning("es", forms) == []


def test_grammar_and_request_wording_are_stopwords() -> None:
    words = [
        "el",
        "los",
        "una",
        "de",
        "para",
        "con",
        "que",
        "por favor",
        "quiero",
        "quisiera",
        "necesito",
        "puedes",
        "podrias",
        "me gustaria",
        "tengo que",
        "gracias",
    ]
    assert [word for word in words if word not in stopwords("es")] == []
